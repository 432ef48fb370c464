-- What Lua is timed with: tables, strings, closures, coroutines, metatables, patterns, sorting. `arg[1]` is the size.
local size = tonumber(arg[1])

local seed = 42
local function random(limit)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % limit
end

local function fold(sum, value) return (sum * 31 + value) % 4294967291 end

local parts = {}

function parts.tables()
  local sum, list, byname = 0, {}, {}
  for i = 1, size * 40 do list[i] = random(10000) end
  for i = 1, #list do
    local key = "k" .. list[i] % 500
    byname[key] = (byname[key] or 0) + i
  end
  for i = 0, 499 do sum = fold(sum, byname["k" .. i] or 0) end
  local queue = table.move(list, 1, 100, 1, {})
  for i = 1, size do table.insert(queue, i * 7 % #queue + 1, table.remove(queue, i % 50 + 1) + i) end
  for i = 1, #queue do sum = fold(sum, queue[i]) end
  local grid = {}
  for y = 1, 40 do
    grid[y] = {}
    for x = 1, size do grid[y][x] = (x * y) ~ (x + y) end
  end
  for y = 2, 39 do
    for x = 2, size - 1 do
      local row = grid[y]
      sum = fold(sum, row[x - 1] + row[x + 1] + grid[y - 1][x] - grid[y + 1][x] & 0xffff)
    end
  end
  return sum
end

function parts.strings()
  local sum, pieces = 0, {}
  for i = 1, size * 3 do
    local word = string.format("%05d:%-6s|%x|%.3f", i * 7919 % 100000, ("ab"):rep(i % 3 + 1), i, i / 7)
    pieces[#pieces + 1] = word:upper():reverse()
    sum = fold(sum, #word + word:byte(i % #word + 1))
  end
  local text = table.concat(pieces, "\n")
  for line in text:gmatch("[^\n]+") do
    local fraction, rest = line:match("^(%d+)%.(.-)|")
    sum = fold(sum, tonumber(fraction) + #rest)
  end
  local changed, count = text:gsub("(%d)(%u)", "%2<%1>")
  local squeezed = changed:gsub("%s+", " "):gsub("<(%d)>", function(digit)
    return tonumber(digit) % 2 == 0 and "e" or nil
  end)
  for at in squeezed:gmatch("()e") do sum = fold(sum, at) end
  return fold(sum, count)
end

function parts.closures()
  local function counter(step)
    local value = 0
    return function(by) value = value + step * by; return value end
  end
  local counters = {}
  for i = 1, 50 do counters[i] = counter(i) end
  local sum = 0
  for i = 1, size * 50 do sum = fold(sum, counters[i % 50 + 1](i % 3)) end
  local function compose(f, g) return function(...) return f(g(...)) end end
  local f = function(x) return x end
  for i = 1, 40 do f = compose(f, function(x) return (x * 3 + i) % 1000003 end) end
  for i = 1, size do sum = fold(sum, f(i)) end
  local function map(list, change, ...)
    local out = {}
    for i, value in ipairs(list) do out[i] = change(value, ...) end
    return out
  end
  local list = {}
  for i = 1, 200 do list[i] = i end
  for _ = 1, size // 20 do list = map(list, function(value, a, b) return (value * a + b) % 65521 end, 17, 5) end
  for i = 1, #list do sum = fold(sum, list[i]) end
  return sum
end

function parts.objects()
  local Shape = {}
  Shape.__index = Shape
  function Shape.new(class, width, height) return setmetatable({ width = width, height = height }, class) end
  function Shape:area() return self.width * self.height end
  local Box = setmetatable({}, { __index = Shape })
  Box.__index = Box
  Box.__add = function(a, b) return Box:new(a.width + b.width, a.height + b.height) end
  Box.__lt = function(a, b) return a:area() < b:area() end
  Box.__call = function(self, scale) return self:area() * scale end
  function Box:area() return Shape.area(self) + 1 end
  local sum, total = 0, Box:new(0, 0)
  for i = 1, size * 5 do
    local a, b = Box:new(random(100), random(100)), Shape.new(Box, i % 17, i % 13)
    if a < b then a, b = b, a end
    total = a + b
    sum = fold(sum, total(3))
  end
  return sum
end

function parts.sorting()
  local sum, list = 0, {}
  for i = 1, size * 6 do list[i] = random(32768) end
  table.sort(list)
  for i = 1, #list, 7 do sum = fold(sum, list[i]) end
  table.sort(list, function(a, b) if a % 100 ~= b % 100 then return a % 100 < b % 100 end return a > b end)
  for i = 1, #list, 7 do sum = fold(sum, list[i]) end
  local words = {}
  for i = 1, size do words[i] = string.char(97 + random(26), 97 + random(26), 97 + random(26)) .. random(10) end
  table.sort(words)
  for i = 1, #words do sum = fold(sum, words[i]:byte(2)) end
  return sum
end

function parts.coroutines()
  local function generate(n)
    return coroutine.wrap(function()
      local function visit(depth)
        if depth == 0 then coroutine.yield(depth) return end
        visit(depth - 1)
        coroutine.yield(depth)
        visit(depth - 1)
      end
      visit(n)
    end)
  end
  local sum = 0
  for _ = 1, size // 40 do
    for value in generate(8) do sum = fold(sum, value) end
  end
  return sum
end

-- A recursive-descent parser of expressions, which become closures.
local function parse(text)
  local at, expression = 1, nil
  local function skip(pattern)
    local first, last = text:find("^%s*" .. pattern, at)
    if first then at = last + 1 return text:sub(first, last):match("%S+") end
  end
  local function atom()
    local number = skip("%d+")
    if number then number = tonumber(number) return function() return number end end
    local name = skip("%a+")
    if name then return function(env) return env[name] or 0 end end
    if not skip("%(") then error("expected a value at " .. at) end
    local inside = expression()
    if not skip("%)") then error("expected ) at " .. at) end
    return inside
  end
  local function term()
    local left = atom()
    while skip("%*") do
      local a, b = left, atom()
      left = function(env) return a(env) * b(env) % 1000003 end
    end
    return left
  end
  function expression()
    local left = term()
    while true do
      local operator = skip("[+-]")
      if not operator then return left end
      local a, b = left, term()
      left = operator == "+" and function(env) return a(env) + b(env) end or function(env) return a(env) - b(env) end
    end
  end
  return expression()
end

function parts.parsing()
  local sum = 0
  for i = 1, size // 8 do
    local run = parse(string.format("(x + %d) * (y - %d * (z + x)) + alpha * %d - (%d)", i, i % 9, i % 31, i * 3))
    for x = 1, 5 do sum = fold(sum, run({ x = x, y = i, z = x * i, alpha = 7 }) % 65536) end
  end
  local good, message = pcall(parse, "1 + (2 * ")
  return fold(sum, good and 0 or #message)
end

function parts.numbers()
  local sum, x = 0, 0.5
  for i = 1, size * 30 do
    x = 3.9 * x * (1 - x)
    sum = fold(sum, math.floor(x * 1000) + (i ~ (i >> 3)) % 7 + i // 3 % 5)
  end
  local function fibonacci(n) if n < 2 then return n end return fibonacci(n - 1) + fibonacci(n - 2) end
  for _ = 1, size // 100 do sum = fold(sum, fibonacci(15)) end
  return sum
end

local total = 0
for _, name in ipairs({ "tables", "strings", "closures", "objects", "sorting", "coroutines", "parsing", "numbers" }) do
  local sum = parts[name]()
  print(name, string.format("%d", sum))
  total = fold(total, sum)
end
print("total", string.format("%d", total))
