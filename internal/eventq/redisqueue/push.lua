-- Appends the new items of a push to the queue, as far as the queue accepts them.
-- Runs after fit.lua.
-- KEYS  as in deduplicate.lua
-- ARGV  as in deduplicate.lua
-- Returns the verdict 'QUEUED FULL DUPLICATE LENGTH': how many items were queued,
-- dropped as queue_full and dropped as duplicate, and the length of the queue
-- afterwards; the same when it runs again. Or 'full' if the push is refused and
-- nothing has changed.
local length_before, accepted = length, new_count
max_dropped = math.max(max_dropped, new_count)
local shrunk = length_before - excess(length_before) -- an operator may have lowered the limit; each push shrinks the queue
if ARGV[9] ~= 'drop_oldest' then
  accepted = math.min(new_count, math.max(0, max_len - shrunk))
end
if new_count > 0 and (ARGV[9] == 'reject' and accepted < new_count
    or #new_ids > 0 and redis.call('ZCARD', KEYS[5]) + new_count > tonumber(ARGV[12])) then
  return read_verdict() or 'full'
end
local dropped = excess(shrunk + accepted)
local lasting, after = accepted - math.max(0, dropped - shrunk), shrunk + accepted - dropped
local verdict = string.format('%.0f %.0f %.0f %.0f', lasting, new_count - lasting, pushed - new_count, after)
local stored = read_verdict()
if stored then
  return stored
end
store_verdict(verdict)
shrink()

count('offered', pushed)
count('d:duplicate', pushed - new_count)
count('d:queue_full', new_count - accepted)
for i = refused_at + 1, ids_at - 1, 2 do
  count('offered', tonumber(ARGV[i + 1]))
  count(ARGV[i], tonumber(ARGV[i + 1]))
end
if accepted > 0 then
  redis.call('RPUSH', KEYS[1], unpack(first_items(accepted)))
  length = length + accepted
  local kept_at = tonumber(game[8] or 0)
  if length_before == 0 or now < kept_at or now >= kept_at + 1000 then -- once a second is enough
    redis.call('PEXPIRE', KEYS[1], ARGV[8])
    set_field('kept_at', ARGV[2])
  end
  if #new_ids > 0 then
    remember_ids(accepted)
  end
end
shrink()
if length_before == 0 or length_before < batch_size and length >= batch_size or length < length_before + accepted then
  mark_due() -- in all other cases the queue is not due earlier
end
save_fields()
return verdict
