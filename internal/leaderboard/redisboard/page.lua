-- Reads the entries from start to stop, at one moment. It runs after ready.lua and one of top.lua, edge.lua, around.lua.
-- KEYS  as ready.lua.
-- ARGV  none of its own.
-- Returns what ready.lua read, then start (entries before the first) and better (of those, entries with a better key).
--         Then a list of member and key, alternately, and a list of the parts of these entries.
local found, ids, parts = {}, {}, {}
local better = 0
if stop >= start then
  found = redis.call('ZRANGE', ranking, start, stop, 'WITHSCORES')
end
for i = 1, #found, 2 do
  ids[#ids + 1] = string.sub(found[i], 18)
end
if #ids > 0 then
  better = redis.call('ZCOUNT', ranking, '-inf', '(' .. found[2])
  parts = redis.call('HMGET', KEYS[3], unpack(ids))
end
return { read, start, better, found, parts }
