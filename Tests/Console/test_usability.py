"""Lost connections, the keyboard, accessibility, and looks."""

import json

from support import ConsoleCase, Server

SCREENS = ["data", "rules", "additions", "accounts", "connections", "profile", "history", "queues", "triggers",
           "backups", "log", "metrics", "settings"]


class LostConnection(ConsoleCase):
    expected_problems = ("ERR_CONNECTION_REFUSED", "WebSocket connection")

    def restart(self, kill=False):
        port = self.server.port
        self.server.stop(kill)
        self.page.wait_text("No connection", "#connection")
        self.server.start(port)

    def test_comes_back_and_shows_what_is_new(self):
        self.server.put("/", {"a": 1, "b": {"c": 1}})
        self.open()
        self.expand("b")
        self.wait_row("c", "1")
        port = self.server.port
        self.server.stop()
        self.page.wait_text("No connection", "#connection")
        # What was shown stays.
        self.wait_row("c", "1")
        self.server.start(port)
        self.page.wait_text("Connected", "#connection")
        self.server.put("/b/c", 2)
        self.wait_row("c", "2")

    def test_edit_is_kept_over_a_crash(self):
        self.server.put("/", {"text": "before"})
        self.open()
        self.select("text")
        self.page.key("F2")
        self.page.fill("form.inline input", "typed before the crash")
        self.restart(kill=True)
        self.page.wait_text("Connected", "#connection")
        self.assertEqual(self.page.evaluate("document.querySelector('form.inline input').value"), "typed before the crash")
        self.page.focus("form.inline input")
        self.page.key("Enter")
        self.wait_row("text", '"typed before the crash"')
        self.assertEqual(self.server.get("/text"), "typed before the crash")

    def test_write_without_a_connection_says_so(self):
        self.server.put("/", {"text": "before"})
        self.open()
        self.select("text")
        self.page.key("F2")
        self.page.fill("form.inline input", "lost")
        port = self.server.port
        self.server.stop()
        self.page.wait_text("No connection", "#connection")
        self.page.key("Enter")
        self.page.wait_text("There is no connection", "form.inline")
        self.server.start(port)
        self.page.wait_text("Connected", "#connection")
        self.page.key("Enter")
        self.wait_row("text", '"lost"')

    def test_profile_goes_on_after_a_restart(self):
        self.open(screen="profile")
        self.page.click("button", "Start")
        self.page.wait_text("Watching default")
        self.restart()
        self.page.wait_text("Connected", "#connection")
        self.page.wait("(fetch('/after.json', { method: 'PUT', body: '1', headers: { Authorization: 'Bearer owner' } }), document.querySelector('table').textContent.includes('/after'))")


class TwoTabs(ConsoleCase):
    def test_one_sees_what_the_other_writes(self):
        from support import browser
        self.server.put("/", {"text": "before"})
        self.open()
        self.wait_row("text", '"before"')
        other = browser().page()
        try:
            other.open(self.server.url)
            other.wait_text("before", ".tree")
            self.select("text")
            self.page.key("F2")
            self.page.fill("form.inline input", "from the first")
            self.page.key("Enter")
            other.wait_text("from the first", ".tree")
        finally:
            other.close()


class Keyboard(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.server.put("/", {"a": {"x": 1, "y": 2}, "b": "text"})

    def focused(self):
        return self.page.evaluate("document.activeElement.querySelector?.('.name')?.textContent ?? document.activeElement.id ?? document.activeElement.tagName")

    def test_tree_by_keys_alone(self):
        self.open()
        self.wait_row("b")
        # From the top of the page to the tree.
        for _ in range(60):
            self.page.key("Tab")
            if self.page.evaluate("document.activeElement.role === 'row'"):
                break
        self.assertEqual(self.focused(), "/")
        self.page.key("ArrowDown")
        self.assertEqual(self.focused(), "a")
        self.page.key("ArrowRight")
        self.wait_row("x", "1")
        self.page.key("ArrowRight")
        self.assertEqual(self.focused(), "x")
        self.page.key("ArrowLeft")
        self.assertEqual(self.focused(), "a")
        self.page.key("ArrowLeft")
        self.page.wait(f"!{self.row('x')}")
        self.page.key("End")
        self.assertEqual(self.focused(), "b")
        self.page.key("Enter")
        self.page.wait("document.activeElement.matches('form.inline input')")
        self.page.evaluate("document.activeElement.select()")
        self.page.type("typed")
        self.page.key("Enter")
        self.wait_row("b", '"typed"')
        self.page.wait("document.activeElement.role === 'row'")
        self.page.key("Delete")
        self.page.wait(f"!{self.row('b')}")
        self.page.focus(".tree .row[tabindex='0']")
        self.page.key("z", "ctrl")
        self.wait_row("b", '"typed"')

    def test_every_screen_is_reached_and_left(self):
        self.open()
        for _ in range(4 + len(SCREENS)):
            self.page.key("Tab")
        seen = set()
        self.page.focus("#pages a")
        for screen in SCREENS:
            seen.add(self.page.evaluate("document.activeElement.dataset.page"))
            self.page.key("Tab")
        self.assertEqual(seen, set(SCREENS))

    def test_skip_link(self):
        self.open()
        self.wait_row("b")
        self.page.key("Tab")
        self.assertEqual(self.page.evaluate("document.activeElement.className"), "skip")
        self.assertGreaterEqual(self.page.evaluate("document.activeElement.getBoundingClientRect().left"), 0)

    def test_dialogs_hold_the_focus_and_give_it_back(self):
        self.open()
        self.select("a")
        self.page.focus("#do-rename")
        self.page.key("Enter")
        self.page.wait("document.querySelector('dialog[open]')")
        for _ in range(12):
            self.page.key("Tab")
            self.assertTrue(self.page.evaluate("document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)"))
        self.page.key("Escape")
        self.page.wait("!document.querySelector('dialog')")
        self.assertEqual(self.page.evaluate("document.activeElement.id"), "do-rename")

    def test_keys_with_modifiers_do_nothing(self):
        self.open()
        self.select("b")
        self.page.key("Delete", "ctrl")
        self.page.key("Delete", "alt")
        self.page.key("Delete", "shift")
        self.page.key("Enter", "ctrl")
        self.assertEqual(self.server.get("/b"), "text")
        self.wait_row("b", '"text"')


#: Colours of text and what lies behind it, by the rule of WCAG 2: a list of those below 4.5:1.
CONTRAST = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (text) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 200) return c; } return [255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility({ visibilityProperty: true })) continue;
    if (e.closest(':disabled, .hidden, option, .skip, textarea, svg, [class*=flash]')) continue;
    const [a, b] = [light(rgba(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.push(`${e.tagName}.${e.className}: ${e.textContent.slice(0, 30)} ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
  }
  return bad;
})()"""


class Accessibility(ConsoleCase):
    scheme = "light"

    def setUp(self):
        super().setUp()
        self.page.media(self.scheme)
        self.server.put("/", {"a": {"x": 1}, "text": "x", "flag": True, "none": {"-JhLeOlGIEjaIOFHR0xd": 1}})

    def check(self, screen):
        self.open(screen=screen)
        self.page.wait("document.querySelector('.page')")
        if screen == "data":
            self.wait_row("text")
        nodes = self.page.accessibility()
        nameless = [
            node["role"]["value"] for node in nodes
            if node["role"]["value"] in ("button", "link", "textbox", "searchbox", "combobox", "checkbox", "treegrid", "table", "dialog", "navigation", "region", "img", "spinbutton")
            and not node.get("name", {}).get("value")]
        self.assertEqual(nameless, [], "each control has a name")
        self.assertEqual(sum(node["role"]["value"] == "main" for node in nodes), 1)
        self.assertEqual(self.page.evaluate("document.querySelectorAll('#main h1').length"), 1)
        self.assertEqual(self.page.evaluate("(() => { const ids = [...document.querySelectorAll('[id]')].map((e) => e.id); return ids.filter((id, i) => ids.indexOf(id) !== i); })()"), [])
        self.assertEqual(self.page.evaluate("""[...document.querySelectorAll('[aria-labelledby], [aria-describedby]')].flatMap((e) =>
          [...(e.getAttribute('aria-labelledby') ?? '').split(' '), ...(e.getAttribute('aria-describedby') ?? '').split(' ')])
          .filter((id) => id && !document.getElementById(id))"""), [])
        small = self.page.evaluate("""[...document.querySelectorAll('button, select, input:not([type=checkbox]), #pages a')]
          .filter((e) => e.checkVisibility()).filter((e) => { const b = e.getBoundingClientRect(); return b.height < 24 && !e.closest('table, .tree'); })
          .map((e) => e.outerHTML.slice(0, 80))""")
        self.assertEqual(small, [], "what is clicked is 24 pixels high")
        self.assertEqual(self.page.evaluate(CONTRAST), [])

    def test_data(self):
        self.check("data")
        self.assertEqual(self.page.evaluate("document.querySelector('.tree').role"), "treegrid")
        row = json.loads(self.page.evaluate(f"JSON.stringify((({self.row('a')})) && ((r) => ({{ level: r.ariaLevel, expanded: r.ariaExpanded, selected: r.ariaSelected, index: r.ariaRowIndex }}))({self.row('a')}))"))
        self.assertEqual(row, {"level": "2", "expanded": "false", "selected": "false", "index": "2"})
        self.assertIsNone(self.page.evaluate(f"{self.row('text')}.ariaExpanded"))

    def test_rules(self):
        self.check("rules")

    def test_accounts(self):
        self.check("accounts")

    def test_connections(self):
        self.check("connections")

    def test_profile(self):
        self.check("profile")

    def test_history(self):
        self.check("history")

    def test_backups(self):
        self.check("backups")

    def test_log(self):
        self.check("log")

    def test_metrics(self):
        self.check("metrics")

    def test_settings(self):
        self.check("settings")


class AccessibilityInTheDark(Accessibility):
    scheme = "dark"


class Looks(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.server.put("/", {"rooms": {"kitchen": {"title": "Kitchen", "temperature": 21.5, "on": True}}, "long": "text " * 100})

    def look(self, width, height, screen="data", **media):
        self.page.resize(width, height)
        if media:
            self.page.media(**media)
        self.open(screen=screen)
        self.page.wait("document.querySelector('.page')")
        if screen == "data":
            self.expand("rooms")
            self.wait_row("kitchen")
        # tearDown looks whether the page is wider than the window.

    def test_360_pixels(self):
        self.look(360, 740)
        self.select("long")
        self.act("edit")
        self.page.wait("document.querySelector('dialog[open] input, dialog[open] textarea, form.inline input')")
        box = self.page.evaluate("(() => { const b = document.querySelector('dialog[open], form.inline').getBoundingClientRect(); return [b.left >= 0, b.right <= innerWidth + 1, b.bottom <= innerHeight + 1]; })()")
        self.assertEqual(box, [True, True, True])

    def test_360_pixels_rules(self):
        self.look(360, 740, "rules")

    def test_360_pixels_accounts(self):
        self.look(360, 740, "accounts")

    def test_4k(self):
        self.look(3840, 2160)

    def test_dark(self):
        self.look(1280, 800, scheme="dark")
        self.assertLess(sum(self.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)")), 120)

    def test_chosen_colours_stay(self):
        self.look(1280, 800)
        self.page.choose("#theme", "dark")
        self.page.evaluate("window.isOld = true")
        self.page.evaluate("location.reload()")
        self.page.wait("!window.isOld && document.readyState === 'complete'")
        self.page.wait("getComputedStyle(document.documentElement).colorScheme === 'dark'")
        self.page.wait_text("Connected", "#connection")

    def test_forced_colours(self):
        self.look(1280, 800, forced="active")

    def test_reduced_motion(self):
        self.look(1280, 800, motion="reduce")
        self.server.put("/rooms/kitchen", 5)
        self.wait_row("kitchen", "5")
        self.assertEqual(self.page.evaluate(f"getComputedStyle({self.row('kitchen')}).animationName"), "none")

    def test_zoomed_to_400_percent(self):
        self.look(320, 256)
