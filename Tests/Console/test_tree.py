"""Looking at data: the tree, its pages, changes of others."""

import json

from support import ConsoleCase

HOSTILE = "<img src=x onerror=alert(1)>"


class Tree(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.server.put("/", {
            "rooms": {"kitchen": {"title": "Kitchen", "temperature": 21.5, "lights": {"oven": False}}},
            "welcome": "Hello", "number": 12,
        })

    def test_shows_children_with_their_types(self):
        self.open()
        self.wait_row("number", "12")
        self.wait_row("welcome", '"Hello"')
        self.assertEqual([key for key, _ in self.rows()], ["/", "number", "rooms", "welcome"])
        kinds = self.page.evaluate("[...document.querySelectorAll('.tree .v')].map((v) => v.className)")
        self.assertEqual(kinds, ["v number", "v object", "v string"])

    def test_expands_and_collapses(self):
        self.open()
        self.expand("rooms")
        self.expand("kitchen")
        self.wait_row("title", '"Kitchen"')
        self.expand("rooms")
        self.page.wait(f"!{self.row('kitchen')}")

    def test_change_of_another_client_flashes(self):
        self.open()
        self.wait_row("welcome", '"Hello"')
        self.page.evaluate(f"""window.seen = new Set(); new MutationObserver(() => {{
          for (const row of document.querySelectorAll('.tree .row')) {{
            const kind = /flash-\\w+/.exec(row.className)?.[0];
            if (kind) seen.add(`${{kind}} ${{row.querySelector('.name')?.textContent}}`);
          }} }}).observe(document.querySelector('.tree'), {{ subtree: true, attributes: true, childList: true }})""")
        self.server.put("/welcome", "Goodbye")
        self.wait_row("welcome", '"Goodbye"')
        self.server.put("/another", True)
        self.wait_row("another", "true")
        self.server.put("/number", None)
        self.page.wait(f"!{self.row('number')}")
        self.page.wait("['flash-changed welcome', 'flash-added another', 'flash-removed number'].every((f) => seen.has(f))")

    def test_says_who_changed_it(self):
        self.open()
        self.wait_row("welcome", '"Hello"')
        # An unsigned ID token of development mode: {"sub":"ann"}.
        status, _, body = self.server.request(
            "PUT", "/welcome.json?auth=eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.", "by Ann", token=None)
        self.assertEqual(status, 200, body)
        self.page.wait("document.querySelector('.by')?.textContent.includes('by ann')")

    def test_deep_change_shows_where_it_happens(self):
        self.open()
        self.expand("rooms")
        self.expand("kitchen")
        self.expand("lights")
        self.wait_row("oven", "false")
        self.server.put("/rooms/kitchen/lights/oven", True)
        self.wait_row("oven", "true")
        self.server.put("/rooms/kitchen/lights", {"oven": True, "hob": True})
        self.wait_row("hob", "true")

    def test_removed_parents_go_too(self):
        self.open()
        self.expand("rooms")
        self.expand("kitchen")
        self.server.put("/rooms", None)
        self.page.wait(f"!{self.row('rooms')} && !{self.row('kitchen')}")

    def test_all_gone_and_back(self):
        self.open()
        self.wait_row("welcome")
        self.server.put("/", None)
        self.page.wait(f"!{self.row('welcome')}")
        self.wait_row("/", "null")
        self.server.put("/", {"again": 1})
        self.wait_row("again", "1")

    def test_path_is_in_the_address(self):
        self.open("rooms/kitchen")
        self.wait_row("temperature", "21.5")
        self.page.click(".crumbs a", "rooms")
        self.wait_row("kitchen")
        self.assertEqual(self.page.evaluate("location.hash"), "#/default/data/rooms")
        self.page.evaluate("history.back()")
        self.wait_row("temperature", "21.5")

    def test_go_to_a_path(self):
        self.open()
        self.wait_row("welcome")
        self.page.fill(".jump input", "/rooms/kitchen")
        self.page.key("Enter")
        self.wait_row("temperature", "21.5")

    def test_push_ids_show_their_time(self):
        self.server.put("/list", {"-JhLeOlGIEjaIOFHR0xd": 1, "-shorter": 2})
        self.open("list")
        self.wait_row("-JhLeOlGIEjaIOFHR0xd", "1")
        self.assertEqual(self.page.evaluate("document.querySelector('time.made').dateTime"), "2015-02-04T22:15:31.153Z")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('time.made').length"), 1)

    def test_order_of_keys(self):
        keys = ["-1", "1", "01", "9", "10", " x", "+1", "2147483648", "A", "a", "z", "é", "😀", "ﬀ"]
        self.server.put("/keys", {key: True for key in reversed(keys)})
        self.open("keys")
        self.wait_row("ﬀ")
        self.assertEqual([key for key, _ in self.rows()[1:]], [key.replace(" x", "␣x") for key in keys])
        # A change puts its row in the same place.
        self.server.put("/keys/5", True)
        self.wait_row("5")
        self.assertEqual([key for key, _ in self.rows()[1:]][:4], ["-1", "1", "01", "5"])

    def test_other_database(self):
        self.server.put("/here", "other", database="other")
        self.open()
        self.wait_row("welcome")
        self.page.choose("#database", "other")
        self.wait_row("here", '"other"')
        self.assertEqual(self.page.evaluate("location.hash"), "#/other/data")

    def test_numbers_as_times(self):
        self.server.put("/at", 1700000000000)
        self.open()
        self.wait_row("at", "1700000000000")
        self.assertEqual(
            self.page.evaluate(f"{self.row('at')}.querySelector('.v').title"), "2023-11-14T22:13:20.000Z")


class HostileTree(ConsoleCase):
    def test_hostile_keys_and_values_are_text(self):
        key = "<img src=x onerror=alert(1)>"
        self.server.put("/", {key: {key: key}, "b": "<script>alert(1)</script>", "bidi": "\u202eabc\u202c"})
        self.open()
        self.wait_row("b", '"<script>alert(1)</script>"')
        self.expand(key)
        self.page.wait("document.querySelectorAll('.name').length === 5")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('#main img, #main script').length"), 0)
        self.wait_row("bidi", '"⟨202E⟩abc⟨202C⟩"')
        self.open(key)
        self.page.wait_text(key, ".crumbs")

    def test_right_to_left_stays_in_its_place(self):
        self.server.put("/", {"שלום": "עולם", "latin": "x"})
        self.open()
        self.wait_row("שלום", '"עולם"')
        places = self.page.evaluate("[...document.querySelectorAll('.tree .row')].slice(1).map((r) => r.querySelector('.name').getBoundingClientRect().left)")
        self.assertEqual(len(set(map(round, places))), 1)

    def test_prototype_and_constructor_are_keys(self):
        raw = b'{"__proto__":{"a":1},"constructor":2,"toString":3,"hasOwnProperty":4}'
        self.server.request("PUT", "/.json", raw=raw)
        self.open()
        self.wait_row("__proto__", '{"a":1}')
        self.expand("__proto__")
        self.wait_row("a", "1")
        self.assertEqual([key for key, _ in self.rows()], ["/", "__proto__", "a", "constructor", "hasOwnProperty", "toString"])

    def test_long_keys_and_values(self):
        self.server.put("/", {"k" * 700: "v" * 100_000, "short": "x"})
        self.open()
        self.wait_row("short", '"x"')
        self.assertIn("98 KiB", json.dumps(self.rows()))


class ManyChildren(ConsoleCase):
    count = 1_000_000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        text = "{" + ",".join(f'"k{i:07}":{i}' for i in range(cls.count)) + "}"
        status, _, body = cls.server.request("PUT", "/many.json?print=silent", raw=text.encode())
        assert status < 300, body
        cls.server.put("/few", {"a": 1})

    def test_million_children_open_at_once(self):
        self.open()
        self.wait_row("many")
        taken = self.page.evaluate(f"""new Promise((resolve) => {{
          const start = performance.now();
          {self.row('many')}.querySelector('.twisty').click();
          const look = () => ({self.row('k0000001')} ? resolve(performance.now() - start) : setTimeout(look, 5));
          look();
        }})""")
        self.assertLess(taken, 3000)
        self.assertLess(self.page.evaluate("document.querySelectorAll('.tree .row').length"), 100)

    def test_scrolling_loads_further_pages_and_drops_far_ones(self):
        self.open("many")
        self.wait_row("k0000001")
        for _ in range(9):
            before = self.page.evaluate("document.querySelector('.rows').offsetHeight")
            self.page.evaluate("document.querySelector('.tree').scrollTop = 1e9")
            self.page.wait(f"[...document.querySelectorAll('.name')].at(-1) && document.querySelector('.rows').offsetHeight !== {before} || document.querySelector('.tree').scrollTop + document.querySelector('.tree').clientHeight < document.querySelector('.rows').offsetHeight - 100")
        self.page.wait("document.querySelector('.rows').offsetHeight <= 28 * 6200")
        memory = self.page.evaluate("performance.memory.usedJSHeapSize")
        self.assertLess(memory, 150 << 20)

    def test_jump_to_a_key(self):
        self.open("many")
        self.wait_row("k0000001")
        self.page.fill(".jump input", "k0765432")
        self.page.key("Enter")
        self.wait_row("k0765432", "765432")
        self.assertTrue(self.page.evaluate(f"{self.row('k0765432')}.ariaSelected === 'true'"))
        self.page.wait_text("earlier children", ".tree")

    def test_change_far_away_is_not_shown_and_near_is(self):
        self.open("many")
        self.wait_row("k0000001", "1")
        self.server.put("/many/k0999999", 5)
        self.server.put("/many/k0000001", "near")
        self.wait_row("k0000001", '"near"')

    def test_removing_says_how_many(self):
        self.open()
        self.select("many")
        self.act("remove")
        self.dialog("more than 5,000 children")
        self.dialog("Type many to confirm")
        self.page.key("Escape")
        self.page.wait("!document.querySelector('dialog')")
        self.wait_row("many")
