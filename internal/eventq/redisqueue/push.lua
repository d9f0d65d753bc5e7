-- Puts the fresh items at the end of the queue, as far as it takes them. After
-- kept.lua.
-- KEYS  as of fresh.lua
-- ARGV  as of fresh.lua
-- Returns the verdict 'QUEUED FULL DUPLICATE LENGTH': the items queued, dropped
-- as queue_full and as duplicate, and the length of the queue; the same when run
-- again; or 'full' where the push is refused, with nothing changed.
local was, kept = length, fresh
most = math.max(most, fresh)
local had = was - beyond(was) -- the bound was lowered: the queue shrinks with each push
if ARGV[9] ~= 'drop_oldest' then
  kept = math.min(fresh, math.max(0, bound - had))
end
if fresh > 0 and (ARGV[9] == 'reject' and kept < fresh
    or #ids > 0 and redis.call('ZCARD', KEYS[5]) + fresh > tonumber(ARGV[12])) then
  return told() or 'full'
end
local gone = beyond(had + kept)
local lasting, after = kept - math.max(0, gone - had), had + kept - gone
local verdict = string.format('%.0f %.0f %.0f %.0f', lasting, fresh - lasting, pushed - fresh, after)
local before = told()
if before then
  return before
end
tell(verdict)
shrink()

count('offered', pushed)
count('d:duplicate', pushed - fresh)
count('d:queue_full', fresh - kept)
for i = refused + 1, first - 1, 2 do
  count('offered', tonumber(ARGV[i + 1]))
  count(ARGV[i], tonumber(ARGV[i + 1]))
end
if kept > 0 then
  redis.call('RPUSH', KEYS[1], unpack(fitting(kept)))
  length = length + kept
  local kept_at = tonumber(game[8] or 0)
  if was == 0 or now < kept_at or now >= kept_at + 1000 then -- once a second is enough
    redis.call('PEXPIRE', KEYS[1], ARGV[8])
    write('kept_at', ARGV[2])
  end
  if #ids > 0 then
    remember(kept)
  end
end
shrink()
if was == 0 or was < batch and length >= batch or length < was + kept then
  mark() -- nothing else makes it due earlier
end
save()
return verdict
