-- Ends batches all of whose items have been sent. After counts.lua.
-- KEYS  as of game.lua, 6 taken (zset), then the batches (lists)
-- ARGV  1 game, then for each batch its id, the number of its items, and what it
--       is replaced by, see settle.lua
-- Returns 0 where one is not in flight, and nothing has changed; nothing when they
-- are settled so, now or before.
local ending, sent, members = {}, 0, {}
for i = 7, #KEYS do
  local id, n, settled = unpack(ARGV, 3 * i - 19, 3 * i - 17)
  local head = redis.call('LINDEX', KEYS[i], 0) or ''
  if string.match(head, '^(%d+) %d') == n then
    ending[#ending + 1] = i
    members[#members + 1] = id .. ' ' .. n .. ' ' .. ARGV[1]
    sent = sent + n
  elseif head ~= settled then
    return 0
  end
end
if sent == 0 then
  return
end
for _, i in ipairs(ending) do
  redis.call('LTRIM', KEYS[i], 0, 0)
  redis.call('LSET', KEYS[i], 0, ARGV[3 * i - 17])
end
redis.call('ZREM', KEYS[6], unpack(members))
count('in_flight', -sent)
count('sent', sent)
