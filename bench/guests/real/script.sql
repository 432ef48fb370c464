-- What SQLite is timed with. `:size` is the number of orders; everything follows from it.
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, since INTEGER);
CREATE TABLE product (id INTEGER PRIMARY KEY, label TEXT, price REAL, weight INTEGER CHECK (weight > 0));
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer, product INTEGER REFERENCES product,
  amount INTEGER, day INTEGER, note TEXT);

BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :size / 10)
INSERT INTO customer SELECT i, printf('%s %c. %05d', CASE i % 5 WHEN 0 THEN 'Ada' WHEN 1 THEN 'Blaise'
  WHEN 2 THEN 'Emmy' WHEN 3 THEN 'Kurt' ELSE 'Sofia' END, char(65 + i % 26), i * 7919 % 100003),
  'city ' || (i * i % 97), 1990 + i % 35 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
INSERT INTO product SELECT i, upper(substr(hex(i * 2654435761 % 4294967296), 1, 8)), (i * 37 % 1000) / 8.0, 1 + i % 40
  FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :size)
INSERT INTO orders SELECT i, 1 + i * 7 % max(1, :size / 10), 1 + i * i % 200, 1 + i % 9, i * 31 % 397,
  CASE WHEN i % 3 THEN 'note ' || (i * 104729 % 1000003) END FROM n;
COMMIT;

CREATE INDEX orders_customer ON orders (customer);
CREATE INDEX orders_day ON orders (day, product);
CREATE UNIQUE INDEX customer_name ON customer (name);
ANALYZE;

-- Joins, groups, order.
SELECT c.city, count(*), sum(o.amount), round(sum(o.amount * p.price), 2) FROM orders o
  JOIN customer c ON c.id = o.customer JOIN product p ON p.id = o.product GROUP BY c.city ORDER BY 4 DESC, 1 LIMIT 8;
SELECT p.label, total(o.amount), min(o.day), max(o.day), avg(o.amount) FROM product p
  LEFT JOIN orders o ON o.product = p.id AND o.day BETWEEN 100 AND 300
  GROUP BY p.id HAVING count(o.id) > 2 ORDER BY 2 DESC, p.label LIMIT 8;
SELECT count(*) FROM orders a JOIN orders b ON a.day = b.day AND a.product < b.product;
SELECT name, (SELECT count(*) FROM orders o WHERE o.customer = c.id AND o.amount > 4) AS large FROM customer c
  ORDER BY large DESC, name LIMIT 5;
SELECT count(DISTINCT note), count(DISTINCT day), count(DISTINCT product * 10 + amount) FROM orders;

-- Strings, patterns, functions.
SELECT count(*), sum(length(name)) FROM customer WHERE name LIKE '%a%1_' OR name GLOB '*[FG].*7?';
SELECT substr(note, 6, 2) AS prefix, count(*), group_concat(id % 10, '') FROM orders WHERE note IS NOT NULL AND day < 40
  GROUP BY prefix ORDER BY count(*) DESC, prefix LIMIT 4;
SELECT sum(instr(replace(lower(hex(note)), '3', 'xyz'), 'z1')), sum(abs(id - day) % 13), max(trim(note, 'note '))
  FROM orders;
SELECT sum(unicode(substr(name, 1 + id % length(name), 1))), count(nullif(since % 4, 0)), max(quote(name))
  FROM customer;

-- Window functions, compound selects, recursion.
SELECT day, amount, running FROM (SELECT day, amount,
  sum(amount) OVER (PARTITION BY product ORDER BY day, id) AS running,
  row_number() OVER (ORDER BY day DESC, id) AS position FROM orders)
  WHERE position % max(1, :size / 5) = 1 ORDER BY position;
SELECT count(*) FROM (SELECT customer FROM orders WHERE amount = 1
  INTERSECT SELECT customer FROM orders WHERE amount = 9 EXCEPT SELECT customer FROM orders WHERE day % 97 = 0);
WITH RECURSIVE reach(node, depth) AS (SELECT 1, 0
  UNION SELECT (node * 2 + depth) % 2003, depth + 1 FROM reach WHERE depth < 300)
SELECT count(*), sum(node), max(depth) FROM reach;

-- Changes in transactions, with a trigger and a rollback.
CREATE TABLE history (id INTEGER, was INTEGER, is_now INTEGER);
CREATE TRIGGER changed AFTER UPDATE OF amount ON orders WHEN old.amount <> new.amount
  BEGIN INSERT INTO history VALUES (old.id, old.amount, new.amount); END;
BEGIN;
UPDATE orders SET amount = amount + 1 WHERE customer IN (SELECT id FROM customer WHERE city = 'city 1');
SAVEPOINT half;
DELETE FROM orders WHERE day % 7 = 3;
ROLLBACK TO half;
DELETE FROM orders WHERE day % 11 = 5;
COMMIT;
BEGIN;
UPDATE orders SET note = 'lost' WHERE amount > 3;
ROLLBACK;
INSERT INTO orders (id, customer, product, amount, day) VALUES (1, 1, 1, 1, 1)
  ON CONFLICT (id) DO UPDATE SET amount = 100;
SELECT count(*), sum(amount), count(note), (SELECT count(*) FROM history),
  (SELECT sum(was * is_now) FROM history) FROM orders;
DROP INDEX orders_day;
VACUUM;
PRAGMA integrity_check;
SELECT count(*), sum(balance), max(balance), min(balance) FROM account;
SELECT source, count(*), sum(amount) FROM transfer GROUP BY source ORDER BY 3 DESC, 1 LIMIT 5;
