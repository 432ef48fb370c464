// What mujs is timed with: objects, arrays, strings, closures, regular expressions, JSON, sorting,
// exceptions. scriptArgs[0] is the size.
var size = Number(scriptArgs[0]);

var seed = 42;
function random(limit) {
  seed = (seed * 69069 + 12345) % 4294967296;
  return Math.floor(seed / 65536) % limit;
}
function fold(sum, value) { return (sum * 31 + value) % 4294967291; }

function arrays() {
  var sum = 0, list = [], i;
  for (i = 0; i < size * 10; i++) list.push(random(10000));
  var kept = list.filter(function (value, at) { return value % 3 !== 0 && at % 5 !== 0; })
    .map(function (value) { return value * 2 + 1; });
  sum = kept.reduce(fold, 0);
  for (i = 0; i < size; i++) {
    kept.unshift(kept.pop());
    if (i % 50 === 0) kept.reverse();
    if (kept.length > 600) kept.length = 600;
  }
  sum = fold(sum, kept.slice(10, 400).concat(kept.slice(50)).indexOf(kept[60]));
  kept.splice(20, 100, 1, 2, 3);
  kept.forEach(function (value) { sum = fold(sum, value); });
  list.sort(function (a, b) { return a - b; });
  for (i = 0; i < list.length; i += 7) sum = fold(sum, list[i]);
  var words = list.slice(0, size).map(function (value) { return 'w' + (value * 7919 % 1000); }).sort();
  return fold(sum, words.join('').length + words[size >> 1].charCodeAt(1));
}

function objects() {
  var sum = 0, table = {}, i, key;
  for (i = 0; i < size * 8; i++) {
    key = 'key' + random(400);
    table[key] = (table[key] || 0) + i;
    if (i % 9 === 0) delete table['key' + i % 400];
  }
  Object.keys(table).sort().forEach(function (name) { sum = fold(sum, table[name]); });
  function Shape(width, height) { this.width = width; this.height = height; }
  Shape.prototype.area = function () { return this.width * this.height; };
  function Box() { Shape.apply(this, arguments); }
  Box.prototype = Object.create(Shape.prototype);
  Box.prototype.area = function () { return Shape.prototype.area.call(this) + 1; };
  for (i = 0; i < size * 10; i++) {
    var shape = i % 2 ? new Box(random(50), random(50)) : new Shape(i % 17, i % 13);
    sum = fold(sum, shape.area() + (shape instanceof Box ? 1 : 0));
  }
  var cell = { get value() { return this.hidden * 2; }, set value(to) { this.hidden = to % 1000; } };
  for (i = 0; i < size * 4; i++) { cell.value = i * 3; sum = fold(sum, cell.value); }
  return sum;
}

function strings() {
  var sum = 0, pieces = [], i;
  for (i = 0; i < size * 2; i++) {
    var word = (i * 7919 % 100000).toString(16) + ':' + 'abc'.charAt(i % 3).toUpperCase() + '|' + (i / 7).toFixed(3);
    pieces.push(word.split('').reverse().join(''));
    sum = fold(sum, word.lastIndexOf('|') + word.charCodeAt(i % word.length));
  }
  var text = pieces.join(' ');
  sum = fold(sum, text.split(' ').length + text.substring(5, 500).indexOf('C:'));
  for (i = 0; i < 500; i += 3) sum = fold(sum, text.charCodeAt(i));
  return sum;
}

function expressions() {
  var sum = 0, i, found;
  var address = /^([a-z][a-z0-9.]*)@((?:[a-z0-9-]+\.)+[a-z]{2,4})$/i;
  var number = /([+-]?\d+)(\.\d*)?(e[+-]?\d+)?/g;
  for (i = 0; i < size; i++) {
    var text = 'user' + random(1000) + '.name@host-' + (i % 7) + '.example' + (i % 3 ? '.org' : '.x');
    found = address.exec(text);
    sum = fold(sum, found ? found[1].length * 100 + found[2].length : 1);
    var line = 'a=' + i + '.5e' + (i % 9) + ', b=-' + random(500) + ' and c=+' + i % 77 + '.25';
    number.lastIndex = 0;
    while ((found = number.exec(line)) !== null) sum = fold(sum, found[0].length + found.index);
    sum = fold(sum, line.replace(/(\w)=([^,\s]+)/g, function (all, name, value) { return value + name; }).length);
    sum = fold(sum, line.split(/\s*[,=]\s*|\s+and\s+/).length + line.search(/c\s*=/));
  }
  return sum;
}

function closures() {
  var sum = 0, i;
  function counter(step) { var value = 0; return function (by) { value = (value + step * by) % 65521; return value; }; }
  var counters = [];
  for (i = 0; i < 20; i++) counters.push(counter(i));
  for (i = 0; i < size * 20; i++) sum = fold(sum, counters[i % 20](i % 3));
  function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
  for (i = 0; i < size / 50; i++) sum = fold(sum, fibonacci(13));
  function compose(f, g) { return function (x) { return f(g(x)); }; }
  var chain = function (x) { return x; };
  function step(by) { return function (x) { return (x * 3 + by) % 1000003; }; }
  for (i = 0; i < 30; i++) chain = compose(chain, step(i));
  for (i = 0; i < size; i++) sum = fold(sum, chain(i));
  return sum;
}

function json() {
  var sum = 0, i;
  for (i = 0; i < size / 25; i++) {
    var items = [];
    for (var k = 0; k < 12; k++) {
      var name = 'item "' + k + '"\n';
      items.push({ id: i * 12 + k, name: name, price: k / 4, tags: ['a', k % 2 === 0, null], sub: { k: [k, [k]] } });
    }
    var text = JSON.stringify({ items: items, at: i }, null, i % 3);
    var back = JSON.parse(text, function (name, value) { return name === 'price' ? value * 2 : value; });
    sum = fold(sum, text.length + back.items[7].price * 4 + back.items[3].name.length);
  }
  return sum;
}

function exceptions() {
  var sum = 0, i;
  function Failure(code) { this.code = code; }
  function deep(level, code) {
    try {
      if (level > 0) return deep(level - 1, code);
      if (code % 3 === 0) throw new Failure(code);
      if (code % 3 === 1) throw new TypeError('odd');
      return code;
    } finally { sum = fold(sum, level); }
  }
  for (i = 0; i < size; i++) {
    try {
      sum = fold(sum, deep(i % 6, i));
    } catch (error) {
      sum = fold(sum, error instanceof Failure ? error.code : error.message.length);
    }
  }
  return sum;
}

// A tokenizer and an evaluator of expressions, character by character.
function evaluate(text, values) {
  var at = 0;
  function skip() { while (text.charAt(at) === ' ') at++; }
  function atom() {
    skip();
    var c = text.charAt(at), from = at;
    if (c === '(') { at++; var inside = sum(); skip(); at++; return inside; }
    if (c >= '0' && c <= '9') {
      while (text.charAt(at) >= '0' && text.charAt(at) <= '9') at++;
      return parseInt(text.substring(from, at), 10);
    }
    while (text.charAt(at) >= 'a' && text.charAt(at) <= 'z') at++;
    return values[text.substring(from, at)];
  }
  function product() {
    var left = atom();
    for (;;) {
      skip();
      if (text.charAt(at) !== '*') return left;
      at++;
      left = left * atom() % 1000003;
    }
  }
  function sum() {
    var left = product();
    for (;;) {
      skip();
      switch (text.charAt(at)) {
        case '+': at++; left += product(); break;
        case '-': at++; left -= product(); break;
        default: return left;
      }
    }
  }
  return sum();
}
function parsing() {
  var sum = 0;
  for (var i = 0; i < size; i++) {
    var text = '(x + ' + i + ') * (y - 3 * (z + x)) + alpha * ' + i % 31 + ' - 5';
    sum = fold(sum, Math.abs(evaluate(text, { x: i % 7, y: i, z: 3, alpha: 9 })));
  }
  return sum;
}

var total = 0;
[['arrays', arrays], ['objects', objects], ['strings', strings], ['expressions', expressions], ['closures', closures],
  ['json', json], ['exceptions', exceptions], ['parsing', parsing]].forEach(function (part) {
  var sum = part[1]();
  print(part[0], sum);
  total = fold(total, sum);
});
print('total', total);
