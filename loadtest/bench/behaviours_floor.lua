-- Appends a text to a list, and removes the oldest text if the list is over its bound.
-- KEYS 1: the list
-- ARGV 1: the text, 2: the bound
-- Returns 1 if a text was taken off, else 0.
if redis.call('RPUSH', KEYS[1], ARGV[1]) > tonumber(ARGV[2]) then
  redis.call('LPOP', KEYS[1])
  return 1
end
return 0
