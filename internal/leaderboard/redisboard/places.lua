-- Reads the standings of a few entries, at one moment. It follows ready.lua.
-- KEYS  as ready.lua
-- ARGV  1 near: 1 reads the neighbourhood too; 2.. ids, at most 200
-- Returns what ready.lua read, then for each ranked entry, in the order of ARGV, a list: id, key, parts,
--         better (entries with better keys), index (in the ranking, from 0), equal (entries of its key),
--         key of the next better entry (empty: none). The last three are 0, 0 and empty unless near.
local near = ARGV[1] == '1'
local reply = { read }
for i = 2, #ARGV do
  local parts = redis.call('HGET', KEYS[3], ARGV[i])
  local member = parts and string.sub(parts, 1, 16) .. ':' .. ARGV[i]
  local key = member and redis.call('ZSCORE', ranking, member)
  if key then
    local better = redis.call('ZCOUNT', ranking, '-inf', '(' .. key)
    local index, equal, ahead = 0, 0, ''
    if near then
      index = redis.call('ZRANK', ranking, member)
      equal = redis.call('ZCOUNT', ranking, key, key)
    end
    if near and better > 0 then
      ahead = redis.call('ZRANGE', ranking, better - 1, better - 1, 'WITHSCORES')[2]
    end
    reply[#reply + 1] = { ARGV[i], key, parts, better, index, equal, ahead }
  end
end
return reply
