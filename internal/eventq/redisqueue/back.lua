-- Puts items of a batch at the head of the queue again. After terms.lua and
-- settle.lua.
-- KEYS  as of settle.lua
-- ARGV  as of settle.lua
-- Returns nothing.
if ARGV[13] == '1' then
  spend(-1)
end
if back <= #ARGV then
  redis.call('LPUSH', KEYS[1], unpack(ARGV, back))
  first = nil
  redis.call('PEXPIRE', KEYS[1], ARGV[8])
  for at = back + 1, #ARGV, 2 do -- a text is put before its head
    length = length + size_of(ARGV[at])
  end
  shrink()
end
mark()
save()
