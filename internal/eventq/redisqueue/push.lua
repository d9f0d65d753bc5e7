-- Appends items to a queue. Runs after queue.lua.
-- KEYS  1 due, 2 queue, 3 game, 4 taken, 5 seen (zset: ids of unique items), 6 last pushes
--       of the producer, whose ids ascend (hash: game to 'ID VERDICT')
-- ARGV  1 now (ms), 2 to 7 policy as in queue.lua, 8 time to live of the queue (ms), 9 of
--       verdicts (ms), 10 of ids (ms), 11 how many ids there is room for, 12 overflow policy, 13 id
--       of the push, 14 number of items, 15 of counters of refused ones, 16 of ids, then
--       the counters with their numbers, the ids if the items are unique, the bundles
-- Returns 'QUEUED FULL DUPLICATE LENGTH LIMIT': how many items were queued, dropped as
-- queue_full and dropped as duplicate, the length, and the limit, to which the caller must
-- shorten the queue. Or 'full': refused. A repeated run returns the same.
local last, verdict = string.match(redis.call('HGET', KEYS[6], ARGV[2]) or '', '^(%S+) (.*)$')
if last and last >= ARGV[13] then return verdict end -- made before
local q, items, ids_at = open(), tonumber(ARGV[14]), 17 + 2 * tonumber(ARGV[15])
local bundles_at = ids_at + tonumber(ARGV[16])
local ids, bundles, before = {unpack(ARGV, ids_at, bundles_at - 1)}, {unpack(ARGV, bundles_at)}, q.length
local room = ARGV[12] == 'drop_oldest' and items or math.max(0, q.max_len - before)
local keep, kept, new, met = {}, math.min(items, room), items, {} -- keep the new items for which there is room
if #ids > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now - tonumber(ARGV[10]))
  room = math.min(room, math.max(0, tonumber(ARGV[11]) - redis.call('ZCARD', KEYS[5])))
  local known = redis.call('ZMSCORE', KEYS[5], unpack(ids))
  kept, new = 0, 0
  for i, id in ipairs(ids) do
    if not known[i] and not met[id] then
      met[id], new = true, new + 1
      if new <= room then keep[i], kept = true, kept + 1 end
    end
  end
end
if ARGV[12] == 'reject' and kept < new then return 'full' end
if kept < items then
  local item = 0
  for b, bundle in ipairs(bundles) do
    local lines = {}
    for line in string.gmatch(string.match(bundle, '\n(.*)'), '[^\n]+\n') do
      item = item + 1
      if keep[item] or #ids == 0 and item <= kept then lines[#lines + 1] = line end
    end
    bundles[b] = #lines .. '\n' .. table.concat(lines)
  end
end
for _, bundle in ipairs(bundles) do
  if string.sub(bundle, 1, 1) ~= '0' then redis.call('RPUSH', KEYS[2], bundle) end
end
if kept > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[8]) end
for i in pairs(keep) do redis.call('ZADD', KEYS[5], now, ids[i]) end
if #ids > 0 then redis.call('PEXPIRE', KEYS[5], ARGV[10]) end
q.length = before + kept
redis.call('HSET', KEYS[3], 'queued', q.length)
count('offered', items)
count('d:duplicate', items - new)
count('d:queue_full', new - kept)
for i = 17, ids_at - 1, 2 do
  count('offered', tonumber(ARGV[i + 1]))
  count(ARGV[i], tonumber(ARGV[i + 1]))
end
if before == 0 or before < q.batch_size and q.length >= q.batch_size then mark(q) end -- else it is not due earlier
local lasting = math.min(kept, q.max_len)
verdict = string.format('%d %d %d %d %d', lasting, new - lasting, items - new, q.length, q.max_len)
redis.call('HSET', KEYS[6], ARGV[2], ARGV[13] .. ' ' .. verdict)
redis.call('PEXPIRE', KEYS[6], ARGV[9])
return verdict
