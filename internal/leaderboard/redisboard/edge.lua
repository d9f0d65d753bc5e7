-- Cuts at an edge, for page.lua: the place of an entry, which may have left by now. Since and until take the entry in.
-- KEYS  as ready.lua, which it follows
-- ARGV  1 limit, 1 to 200; 2 after, since, before or until; 3 key and 4 member at the edge
-- Returns nothing. It leaves start and stop, indexes from 0, stop below start for nothing.
local limit = tonumber(ARGV[1])
local key, member = ARGV[3], ARGV[4]
local now = redis.call('ZSCORE', ranking, member)
local low, high -- entries before the edge, entries not behind it
if now and tonumber(now) == tonumber(key) then
  low = redis.call('ZRANK', ranking, member)
  high = low + 1
else
  low = redis.call('ZCOUNT', ranking, '-inf', '(' .. key)
  high = redis.call('ZCOUNT', ranking, '-inf', key)
  local position = tonumber(string.sub(member, 1, 16))
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = redis.call('ZRANGE', ranking, middle, middle)[1]
    if tonumber(string.sub(other, 1, 16)) < position then
      low = middle + 1
    else
      high = middle
    end
  end
end
local at = (ARGV[2] == 'since' or ARGV[2] == 'before') and low or high
local start, stop = at, at + limit - 1
if ARGV[2] == 'before' or ARGV[2] == 'until' then
  start, stop = math.max(0, at - limit), at - 1
end
