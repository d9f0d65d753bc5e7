-- Selects the entries next to an edge, for page.lua. The entry at the edge may no longer be in the ranking.
-- The anchors since and until include the edge.
-- KEYS  those of ready.lua, which runs before.
-- ARGV  1 limit, 1 to 200; 2 anchor: after, since, before or until; 3 key and 4 member of the edge.
-- Returns nothing. It sets start and stop, indexes from 0. If stop is below start, no entry is selected.
local limit = tonumber(ARGV[1])
local key, member = ARGV[3], ARGV[4]
local score = redis.call('ZSCORE', ranking, member)
local before, through -- number of entries before the edge; number including the edge
if score and tonumber(score) == tonumber(key) then
  before = redis.call('ZRANK', ranking, member)
  through = before + 1
else
  before = redis.call('ZCOUNT', ranking, '-inf', '(' .. key)
  through = redis.call('ZCOUNT', ranking, '-inf', key)
  local position = tonumber(string.sub(member, 1, 16))
  while before < through do
    local middle = math.floor((before + through) / 2)
    local other = redis.call('ZRANGE', ranking, middle, middle)[1]
    if tonumber(string.sub(other, 1, 16)) < position then
      before = middle + 1
    else
      through = middle
    end
  end
end
local boundary = (ARGV[2] == 'since' or ARGV[2] == 'before') and before or through
local start, stop = boundary, boundary + limit - 1
if ARGV[2] == 'before' or ARGV[2] == 'until' then
  start, stop = math.max(0, boundary - limit), boundary - 1
end
