-- Puts items of a batch back at the head of the queue. Runs after policy.lua and
-- finish.lua.
-- KEYS  as in finish.lua
-- ARGV  as in finish.lua
-- Returns nothing.
if ARGV[13] == '1' then
  spend_tokens(-1)
end
if requeue_at <= #ARGV then
  redis.call('LPUSH', KEYS[1], unpack(ARGV, requeue_at))
  oldest_header = nil
  redis.call('PEXPIRE', KEYS[1], ARGV[8])
  for i = requeue_at + 1, #ARGV, 2 do -- the text of a bundle stands before its header
    length = length + size_of(ARGV[i])
  end
  shrink()
end
mark_due()
save_fields()
