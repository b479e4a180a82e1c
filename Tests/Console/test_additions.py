"""Settings, queues, triggers, and the history that settings keep."""

import json

from support import ConsoleCase

HOSTILE = "<img src=x onerror=alert(1)>"


class AdditionsCase(ConsoleCase):
    settings = "{}"

    @classmethod
    def make_server(cls):
        server = super().make_server()
        status, _, body = server.request("PUT", "/.settings/settings.json", raw=cls.settings.encode())
        assert status == 200, body
        return server

    def keeps_focus(self, selector):
        """Whether a link has the focus after its table was drawn anew."""
        self.page.focus(selector)
        self.page.evaluate("document.activeElement.isOld = true")
        self.page.wait(f"document.querySelector({json.dumps(selector)})?.isOld === undefined")
        self.assertTrue(self.page.evaluate(f"document.activeElement === document.querySelector({json.dumps(selector)})"))

    def no_markup(self):
        self.assertEqual(self.page.evaluate("document.querySelectorAll('#main img').length"), 0)


class SettingsFile(AdditionsCase):
    expected_problems = ("400 (Bad Request)",)
    settings = """{
  // Names are taken once.
  "settings": {
    "users": {".unique": "name"},
    "shop": {".count": {"of": "orders", "into": "orderCount"}, ".sum": {"of": "orders", "value": "price", "into": "turnover"}}
  }
}
"""

    def setUp(self):
        super().setUp()
        self.server.request("PUT", "/.settings/settings.json", raw=b'{"settings": {}}')
        self.server.put("/", {
            "users": {"u1": {"name": "Ann"}, "u2": {"name": HOSTILE}, "u3": {"name": "Ann"}},
            "shop": {"orders": {"a": {"price": 0.1}, "b": {"price": 0.2}}}})
        self.server.request("PUT", "/.settings/settings.json", raw=self.settings.encode())
        self.open(screen="additions")
        self.page.wait("document.querySelector('.editor textarea')?.value")

    def write(self, text):
        self.page.fill(".editor textarea", text)

    def in_force(self):
        return self.server.request("GET", "/.settings/settings.json")[2].decode()

    def test_settings_are_shown_and_published(self):
        self.assertEqual(self.page.evaluate("document.querySelector('.editor textarea').value"), self.settings)
        self.page.wait_text("These settings are in force")
        self.page.wait("[...document.querySelectorAll('.t-rule')].some((e) => e.textContent === '\".unique\"')")
        text = self.settings.replace('".unique": "name"', '".unique": ["name", "email"]')
        self.write(text)
        self.page.click("button.primary", "Publish…")
        self.dialog('−     "users": {".unique": "name"},')
        self.dialog('+     "users": {".unique": ["name", "email"]},')
        self.page.click("dialog button.primary")
        self.notice("The settings are in force")
        self.assertEqual(self.in_force(), text)
        self.page.wait_text("email", "[aria-label='Unique values'] table")

    def test_rules_and_settings_are_published_in_one_step(self):
        before = self.server.request("GET", "/.settings/rules.json")[2]
        self.addCleanup(self.server.request, "PUT", "/.settings/rules.json", raw=before)
        text = self.settings.replace('".unique": "name"', '".unique": "email"')
        self.write(text)
        self.page.wait_text("Changed, not published")
        self.open(screen="rules")
        self.page.wait("document.querySelector('.editor textarea')?.value.includes('rules')")
        rules = '{"rules": {".read": "auth.uid === \'ann\'", ".write": "auth.uid === \'ann\'"}}'
        self.page.fill(".editor textarea", rules)
        self.page.click("button.primary", "Publish…")
        self.dialog('+     "users": {".unique": "email"},')
        self.page.click("#publish-both")
        self.page.click("dialog button.primary")
        self.notice("The rules and the settings are in force")
        self.assertEqual(self.in_force(), text)
        self.assertEqual(self.server.request("GET", "/.settings/rules.json")[2].decode(), rules)
        self.open(screen="additions")
        self.page.wait_text("These settings are in force")
        self.assertEqual(self.page.evaluate("document.querySelector('.editor textarea').value"), text)

    def test_mistake_is_marked_on_its_line(self):
        self.write(self.settings.replace('".unique"', '".uniqe"'))
        self.page.wait_text("Line 4, column 15: Unknown setting '.uniqe': did you mean '.unique'?", "#settings-problem")
        self.page.wait("document.querySelector('.gutter .wrong')?.textContent === '! 4'")
        self.assertTrue(self.page.evaluate("document.querySelector('.tools button.primary').disabled"))
        self.assertEqual(self.in_force(), self.settings)
        self.page.click(".tools button", "Discard changes")
        self.page.click("dialog button.danger")
        self.page.wait_text("These settings are in force")

    def test_settings_are_removed(self):
        self.write(self.settings.replace('".unique": "name"', '".unique": "email"'))
        self.page.click(".tools button.danger", "Remove…")
        self.dialog("Remove the settings of default?")
        self.page.click("dialog button:not(.danger)", "Cancel")
        self.assertEqual(self.in_force(), self.settings)
        self.page.click(".tools button.danger", "Remove…")
        self.page.click("dialog button.danger", "Remove")
        self.notice("The settings of default are removed")
        self.assertEqual(json.loads(self.in_force()), {"settings": {}})
        self.page.wait_text("These settings are in force")
        self.assertEqual(self.page.evaluate("document.querySelector('.editor textarea').value"), self.in_force())
        self.page.wait("document.querySelector(\"table[aria-label='Totals'] tbody tr\") === null")

    def test_conflicts_are_named_until_they_are_resolved(self):
        self.page.wait_text("✗ conflicts", "[aria-label='Unique values'] table")
        self.page.wait_text("u1 and u3", "[aria-label='Conflicts'] table")
        self.assertEqual(self.page.evaluate("document.querySelector('[aria-label=Conflicts] tbody a').hash"), "#/default/data/users/u1")
        self.no_markup()
        self.keeps_focus("[aria-label=Conflicts] tbody a")
        self.server.put("/users/u3/name", "Eve")
        self.page.wait_text("✓ enforced", "[aria-label='Unique values'] table")
        self.page.wait("document.querySelector('[aria-label=Conflicts] tbody tr') === null")

    def test_totals_are_shown(self):
        rows = """[...document.querySelectorAll("table[aria-label='Totals'] tbody tr")].map((row) =>
            [...row.children].map((cell) => cell.innerText.trim()))"""
        self.page.wait(f"{rows}.length === 2 && {rows}.every((row) => row[3] === '✓ kept' && row[1] !== '0')")
        self.assertEqual(self.page.evaluate(rows), [
            ["/shop/orderCount", "2", "children of /shop/orders", "✓ kept"], ["/shop/turnover", "0.3", "price of /shop/orders", "✓ kept"]])
        self.server.put("/shop/orders/c", {"price": 5})
        self.page.wait(f"{rows}[1][1] === '5.3'")

    def test_tests_run_on_the_text_in_the_editor(self):
        case = {"name": "orders are counted", "write": "/shop/orders/a", "value": {"price": 5}, "allowed": True, "then": {"/shop/n": 1}}
        self.page.fill("section[aria-label=Tests] textarea", json.dumps({"tests": [case]}))
        self.page.click("section[aria-label=Tests] button.primary")
        self.page.wait_text("expected: /shop/n is 1")
        self.page.wait_text("came out: null")
        self.write(self.settings.replace('"orderCount"', '"n"'))
        self.page.click("section[aria-label=Tests] button.primary")
        self.page.wait_text("✓ 1 of 1 passed")
        self.assertEqual(self.in_force(), self.settings)


class Queues(AdditionsCase):
    settings = """{
      // A comment with a "quote", and a trailing comma.
      "settings": {"mail": {".queue": {"attempts": 3, "backoff": 60000},}, "rooms": {"$room": {".queue": {}}}},
    }"""

    def setUp(self):
        super().setUp()
        self.server.put("/mail", None)

    def ask(self, **question):
        status, _, body = self.server.request("POST", "/mail/.jobs.json", question)
        assert status == 200, body
        return json.loads(body)

    def claim(self):
        return self.ask(do="claim")["jobs"][0]

    def test_jobs_and_who_has_them(self):
        self.server.put("/mail/jobs", {"a": {"to": "ann"}, "b": {"to": "bob"}, "c": {"to": "eve"}})
        self.claim()
        second = self.claim()
        self.ask(do="fail", k=second["key"], claim=second["claim"], error=HOSTILE)
        self.open(screen="queues")
        self.page.wait_text("3 jobs, 1 handed out, 0 dead; the first is a")
        self.page.wait_text("handed out", "[aria-label='Jobs that were handed out or have failed'] table")
        self.page.wait_text(HOSTILE, "table")
        self.no_markup()
        # Seen without asking again.
        self.server.put("/mail/jobs/a", None)
        self.page.wait_text("2 jobs, 0 handed out")

    def test_dead_jobs_are_tried_again_or_dropped(self):
        number = 9007199254740993
        self.server.put("/mail/jobs", {"a": {"n": number}, "b": 2})
        for _ in range(2):
            job = self.claim()
            self.ask(do="fail", k=job["key"], claim=job["claim"], error="no such address", dead=True)
        self.open("mail", screen="queues")
        self.page.wait_text("0 jobs, 0 handed out, 2 dead")
        self.page.click("[data-focus='retry a']")
        self.notice("a is tried again")
        self.page.wait_text("1 job, 0 handed out, 1 dead")
        self.assertEqual(self.server.get("/mail/jobs"), {"a": {"n": number}})
        self.page.click("[data-focus='drop b']")
        self.dialog("Drop this job?")
        self.page.click("dialog button.danger")
        self.notice("b was dropped")
        self.page.wait_text("1 job, 0 handed out, 0 dead")
        self.assertIsNone(self.server.get("/mail/dead"))

    def test_odd_jobs_are_shown(self):
        self.server.put("/mail/dead", {
            "a": {"value": 1, "attempts": {"x": 1}, "at": {"y": 2}, "error": {"text": 1}}, "b": {"value": 2, "error": "no such address"}})
        self.open(screen="queues")
        self.page.wait_text("0 jobs, 0 handed out, 2 dead")
        self.page.wait_text('{"text":1}', "[aria-label='Dead jobs'] table")
        self.page.wait_text("no such address", "[aria-label='Dead jobs'] table")
        for column in ("Attempts", "Given up"):
            self.page.click("[aria-label='Dead jobs'] thead button", column)
        self.assertEqual(self.page.evaluate("document.querySelectorAll('[aria-label=\\'Dead jobs\\'] tbody tr').length"), 2)

    def test_links_keep_the_focus(self):
        self.server.put("/mail/dead", {"a": {"value": 1}})
        self.open(screen="queues")
        self.keeps_focus("[aria-label='Dead jobs'] tbody a")

    def test_all_queues_are_named(self):
        self.open(screen="queues")
        self.page.wait_text("/mail", "#main")
        self.page.wait_text("/rooms/$room", "#main")
        self.page.fill("input[type=text]", "/rooms/x")
        self.page.key("Enter")
        self.page.wait("location.hash.endsWith('/queues/rooms/x')")
        self.page.wait_text("There are no jobs")


class Triggers(AdditionsCase):
    # Nobody listens there.
    settings = """{"settings": {"rooms": {"$room": {
      ".trigger": {"name": "tell", "on": "written", "url": "http://127.0.0.1:9/", "retry": "0s"}}}}}"""

    def setUp(self):
        super().setUp()
        self.server.put("/rooms", {"a": 1, "b": 2})

    def test_events_that_were_set_aside(self):
        self.open(screen="triggers")
        self.page.wait_text("/rooms/a", "[aria-label='Events that were set aside'] table")
        self.page.wait_text("/rooms/b", "[aria-label='Events that were set aside'] table")
        self.page.wait_text("tell", "[aria-label='Triggers'] table")
        count = self.page.evaluate("document.querySelectorAll(\"[aria-label='Events that were set aside'] tbody tr\").length")
        self.page.click("[aria-label='Events that were set aside'] table button", "Drop")
        self.dialog("will never be sent")
        self.page.click("dialog button.danger")
        self.notice("1 event dropped")
        self.page.wait(f"document.querySelectorAll(\"[aria-label='Events that were set aside'] tbody tr\").length === {count - 1}")
        self.page.click("[aria-label='Triggers'] table button", "Send again")
        self.notice("sent again")
        self.page.click("[aria-label='Triggers'] table button", "Drop")
        self.dialog("Drop these events?")
        self.page.key("Escape")


class KeptHistory(AdditionsCase):
    settings = '{"settings": {"pages": {".history": "30d"}}}'

    def test_values_of_the_past_and_restoring_them(self):
        self.server.put("/pages/home", {"title": "Kitchen"})
        self.server.put("/pages/home/title", HOSTILE)
        self.open("pages/home", screen="history")
        self.page.wait_text("commits shown", "#main")
        self.page.choose("[aria-label='Source']", "kept")
        self.page.wait_text("all that the history has", "#main")
        self.page.wait_text(HOSTILE, "table")
        self.no_markup()
        self.page.click("tbody tr:last-child th button")
        self.dialog("Kitchen")
        self.page.click("dialog button.danger")
        self.notice("is as it was after commit")
        self.assertEqual(self.server.get("/pages/home"), {"title": "Kitchen"})

    def test_a_place_without_history(self):
        self.server.put("/other", 1)
        self.open("other", screen="history")
        self.page.wait_text("commits shown", "#main")
        self.page.choose("[aria-label='Source']", "kept")
        self.page.wait("document.querySelector('#notices .error')")
        self.page.wait_text("no history is kept", "#notices")


class Conditions(AdditionsCase):
    settings = '{"settings": {"tasks": {".index": [["state", ["due", "desc"]]]}}}'

    def setUp(self):
        super().setUp()
        self.server.put("/tasks", {
            "a": {"state": "open", "due": 1}, "b": {"state": "late", "due": 2}, "c": {"state": "open", "due": 3}})
        self.open("tasks")
        self.wait_row("a")
        self.act("query")
        self.page.choose(".panel select", "find")

    def test_pages_say_how_they_were_found(self):
        self.page.click(".panel button.primary")
        self.page.wait_text("2 children; 2 looked at, by the index", ".results")
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('.results th a')].map((a) => a.textContent)"), ["c", "a"])

    def test_a_missing_index_is_named(self):
        self.page.fill(".panel textarea", '{"where":[["due",">",1]],"orderBy":["due"]}')
        self.page.click(".panel button.primary")
        self.page.wait_text('"tasks": { ".index": [[["due","asc"]]] }', ".results")
        self.page.wait_text("2 children", ".results")

    def keys(self):
        return self.page.evaluate("[...document.querySelectorAll('.results th a')].map((a) => a.textContent)")

    def test_a_result_is_kept_up_to_date(self):
        self.page.click("#keep-query")
        self.page.click(".panel button.primary")
        self.page.wait_text("2 children, kept up to date", ".results")
        self.assertEqual(self.keys(), ["c", "a"])
        self.server.put("/tasks/b/state", "open")
        self.page.wait_text("3 children, kept up to date", ".results")
        self.assertEqual(self.keys(), ["c", "b", "a"])
        self.server.put("/tasks/a/due", 9)
        self.page.wait("document.querySelector('.results th a').textContent === 'a'")
        self.server.put("/tasks/c", None)
        self.page.wait_text("2 children, kept up to date", ".results")
        self.assertEqual(self.keys(), ["a", "b"])
        # Without the mark, the last result stays as it is.
        self.page.click("#keep-query")
        self.server.put("/tasks/d", {"state": "open", "due": 10})
        self.page.click(".panel button.primary")
        self.page.wait_text("3 children; 3 looked at", ".results")

    def test_aggregates_are_kept_up_to_date(self):
        self.page.fill(".panel textarea", '{"aggregate":["count","sum"],"of":"due"}')
        self.page.click("#keep-query")
        self.page.click(".panel button.primary")
        self.page.wait_text('{"count":3,"sum":6}', ".results")
        self.server.put("/tasks/b/due", 20)
        self.page.wait_text('{"count":3,"sum":24}', ".results")

    def test_aggregates(self):
        self.page.fill(".panel textarea", '{"aggregate":["count","sum"],"of":"due"}')
        self.page.click(".panel button.primary")
        self.page.wait_text('{"count":3,"sum":6}', ".results")
        self.page.wait_text("looked at, ", ".results")
