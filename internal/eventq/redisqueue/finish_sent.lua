-- Ends batches whose items have all been sent. Runs after counts.lua.
-- KEYS  as in game.lua, 6 taken (zset), then the batches (lists)
-- ARGV  1 game, then for each batch: id, number of items, result marker as in
--       finish.lua
-- Returns 0 if a batch is not in flight; then nothing has changed. Returns nothing
-- if the batches are finished with these markers, now or before.
local unfinished, sent, members = {}, 0, {}
for i = 7, #KEYS do
  local id, n, marker = unpack(ARGV, 3 * i - 19, 3 * i - 17)
  local header = redis.call('LINDEX', KEYS[i], 0) or ''
  if string.match(header, '^(%d+) %d') == n then
    unfinished[#unfinished + 1] = i
    members[#members + 1] = id .. ' ' .. n .. ' ' .. ARGV[1]
    sent = sent + n
  elseif header ~= marker then
    return 0
  end
end
if sent == 0 then
  return
end
for _, i in ipairs(unfinished) do
  redis.call('LTRIM', KEYS[i], 0, 0)
  redis.call('LSET', KEYS[i], 0, ARGV[3 * i - 17])
end
redis.call('ZREM', KEYS[6], unpack(members))
count('in_flight', -sent)
count('sent', sent)
