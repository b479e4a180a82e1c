"""Rules: editing, publishing, simulating."""

import json

from support import ConsoleCase

RULES = """{
  // Who may do what.
  "rules": {
    "open": {".read": true},
    "mine": {"$uid": {".read": "auth.uid === $uid", ".write": "auth.uid === $uid && newData.isNumber()"}}
  }
}
"""


class Rules(ConsoleCase):
    expected_problems = ("400 (Bad Request)",)

    def setUp(self):
        super().setUp()
        status, _, body = self.server.request("PUT", "/.settings/rules.json", raw=RULES.encode())
        assert status == 200, body
        self.open(screen="rules")
        self.page.wait("document.querySelector('.editor textarea')?.value")

    def text(self):
        return self.page.evaluate("document.querySelector('.editor textarea').value")

    def write(self, text):
        self.page.fill(".editor textarea", text)

    def in_force(self):
        return self.server.request("GET", "/.settings/rules.json")[2].decode()

    def test_shows_the_rules_as_they_were_given(self):
        self.assertEqual(self.text(), RULES)
        self.page.wait_text("These rules are in force")
        self.assertEqual(self.page.text(".gutter").split(), [str(n) for n in range(1, 9)])
        self.page.wait("document.querySelector('.t-comment')?.textContent === '// Who may do what.'")
        self.page.wait("[...document.querySelectorAll('.t-rule')].some((e) => e.textContent === '\".read\"')")

    def test_colours_lie_under_the_text(self):
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('.paint > div')].map((d) => d.textContent.replace('\\u200b', '')).join('\\n')"), RULES)

    def test_mistake_is_marked_on_its_line(self):
        self.write(RULES.replace("isNumber()", "isNumbr()"))
        self.page.wait_text("Line 5", "#rules-problem")
        self.page.wait("document.querySelector('.gutter .wrong')?.textContent === '! 5'")
        self.page.wait("document.querySelector('.t-wrong')")
        self.assertEqual(self.page.evaluate("document.querySelector('.editor textarea').ariaInvalid"), "true")
        self.assertTrue(self.page.evaluate("document.querySelector('button.primary').disabled"))
        self.assertEqual(self.in_force(), RULES)

    def test_mistake_behind_odd_characters_is_marked_where_it_is(self):
        self.write('{"rules": {"😀": {".read": nonsense}}}')
        self.page.wait_text("Line 1", "#rules-problem")
        self.page.wait("document.querySelector('.t-wrong')?.textContent.startsWith('n')")

    def test_publish_shows_the_differences(self):
        self.write(RULES.replace('"open"', '"public"'))
        self.page.click("button.primary", "Publish…")
        self.dialog('−     "open": {".read": true},')
        self.dialog('+     "public": {".read": true},')
        self.page.click("dialog button.primary")
        self.notice("The rules are in force")
        self.assertEqual(self.in_force(), RULES.replace('"open"', '"public"'))

    def test_going_back_to_another_database_leaves_the_question(self):
        for database in ("aaa", "bbb"):
            self.server.request("PUT", "/.settings/rules.json", database=database, raw=RULES.encode())
        self.open(screen="rules", database="bbb")
        self.page.wait("document.querySelector('.editor textarea')?.value")
        self.page.evaluate("location.hash = '#/aaa/rules'")
        self.page.wait("document.title.includes('· aaa ·')")
        self.page.wait("document.querySelector('.editor textarea')?.value")
        self.write(RULES.replace('"open"', '"public"'))
        self.page.click("button.primary", "Publish…")
        self.dialog("Publish the rules of aaa?")
        self.page.evaluate("history.back()")
        self.page.wait("document.title.includes('· bbb ·')")
        self.page.wait("!document.querySelector('dialog[open]')")
        self.page.wait_text("These rules are in force")
        for database in ("aaa", "bbb"):
            self.assertEqual(self.server.request("GET", "/.settings/rules.json", database=database)[2].decode(), RULES)

    def test_question_that_comes_late_is_about_its_own_database(self):
        self.server.request("PUT", "/.settings/rules.json", database="bbb", raw=RULES.encode())
        self.write(RULES.replace('"open"', '"public"'))
        self.page.wait("!document.querySelector('button.primary').disabled")
        self.page.evaluate("""(() => {
          const ask = fetch;
          window.fetch = (...input) => {
            window.fetch = ask;
            return new Promise((resolve) => { window.goOn = () => resolve(ask(...input)); });
          };
        })()""")
        self.page.click("button.primary", "Publish…")
        self.page.wait("Boolean(window.goOn)")
        self.page.evaluate("location.hash = '#/bbb/data'")
        self.page.wait("document.title.includes('· bbb ·')")
        self.page.evaluate("goOn()")
        self.dialog("Publish the rules of default?")
        self.page.click("dialog button.primary")
        self.notice("The rules are in force")
        self.assertEqual(self.in_force(), RULES.replace('"open"', '"public"'))
        self.assertEqual(self.server.request("GET", "/.settings/rules.json", database="bbb")[2].decode(), RULES)

    def test_reindented_rules_are_compared_soon(self):
        found = self.page.evaluate("""import('./diff.js').then(({ shortDiff }) => {
          const lines = Array.from({ length: 5000 }, (_, i) => `"k${i}": true,`);
          const wrap = (lines) => ['{', ...lines, '}'].join('\\n');
          const start = performance.now();
          const all = shortDiff(wrap(lines), wrap(lines.map((line) => `  ${line}`)));
          const one = shortDiff(wrap(lines), wrap(lines.with(2500, 'here')));
          return { time: performance.now() - start, one, ends: [all[0], all.at(-1)],
            kinds: all.map(([kind]) => kind).filter((kind, index, kinds) => kind !== kinds[index - 1]), count: all.length };
        })""")
        self.assertLess(found["time"], 3000)
        self.assertEqual(found["ends"], [["same", "{"], ["same", "}"]])
        self.assertEqual([found["count"], found["kinds"]], [10_002, ["same", "removed", "added", "same"]])
        self.assertEqual([kind for kind, _ in found["one"]], ["gap", *["same"] * 3, "removed", "added", *["same"] * 3, "gap"])

    def test_differences_are_the_fewest(self):
        found = self.page.evaluate("""import('./diff.js').then(({ diffLines }) => [
          ['a\\nb\\nc\\na\\nb\\nb\\na', 'c\\nb\\na\\nb\\na\\nc'], ['', 'a'], ['a', 'a'], ['a\\na', 'a'],
        ].map(([before, after]) => {
          const lines = diffLines(before, after);
          const text = (other) => lines.filter(([kind]) => kind !== other).map(([, line]) => line).join('\\n');
          return [text('added') === before, text('removed') === after, lines.filter(([kind]) => kind !== 'same').length];
        }))""")
        self.assertEqual(found, [[True, True, edits] for edits in (5, 2, 0, 1)])

    def test_open_rules_need_a_word(self):
        open_rules = '{"rules": {".read": true, ".write": true}}'
        self.write(open_rules)
        self.page.click("button.primary", "Publish…")
        self.dialog("let everybody read or write everything")
        self.page.click("dialog button.danger")
        self.dialog("if everybody is meant to have access")
        self.assertEqual(self.in_force(), RULES)
        self.page.fill("dialog input", "open")
        self.page.click("dialog button.danger")
        self.notice("The rules are in force")
        self.assertEqual(self.in_force(), open_rules)

    def test_change_of_others_is_noticed_before_publishing(self):
        self.server.request("PUT", "/.settings/rules.json", raw=b'{"rules": {}}')
        self.write(RULES + "\n")
        self.page.click("button.primary", "Publish…")
        self.dialog("have changed since you began to edit them")
        self.page.key("Escape")

    def publish_elsewhere(self, text):
        self.assertEqual(self.server.request("PUT", "/.settings/rules.json", raw=text.encode())[0], 200)

    def test_draft_knows_the_rules_that_it_was_made_of(self):
        self.write(RULES + "// draft")
        self.page.wait_text("Changed, not published")
        theirs = RULES.replace('"open"', '"public"')
        self.publish_elsewhere(theirs)
        self.page.evaluate("location.reload()")
        self.notice("The rules in force have changed since")
        self.page.click("button.primary", "Publish…")
        self.dialog("have changed since you began to edit them")
        self.page.click("dialog button", "Cancel")
        self.assertEqual(self.in_force(), theirs)
        self.page.click(".tools button", "Discard changes")
        self.page.click("dialog button.danger")
        self.page.wait_text("These rules are in force")
        self.write(theirs + "// mine")
        self.page.click("button.primary", "Publish…")
        self.dialog("+ // mine")
        self.assertNotIn("have changed", self.page.text("dialog"))

    def test_draft_of_an_earlier_console_is_there(self):
        # It was the text alone.
        draft = RULES + "// draft"
        self.page.evaluate(f"sessionStorage.setItem('hearth.rules.default', {json.dumps(draft)}); location.reload()")
        self.notice("Your draft of the rules is still here")
        self.assertEqual(self.text(), draft)

    def test_change_of_others_while_the_differences_are_shown_is_kept(self):
        self.write(RULES + "// mine")
        self.page.click("button.primary", "Publish…")
        self.dialog("+ // mine")
        theirs = RULES.replace('"open"', '"public"')
        self.publish_elsewhere(theirs)
        self.page.click("dialog button.primary")
        self.dialog("The rules in force have just changed")
        self.assertEqual(self.in_force(), theirs)

    def test_line_breaks_of_windows_are_no_change(self):
        self.publish_elsewhere(RULES.replace("\n", "\r\n"))
        self.page.evaluate("location.reload()")
        self.page.wait("document.querySelector('.editor textarea')?.value")
        self.page.wait_text("These rules are in force")
        self.assertTrue(self.page.evaluate("document.querySelector('button.primary').disabled"))
        self.write(RULES + "// mine")
        self.page.click("button.primary", "Publish…")
        self.dialog("+ // mine")
        # The empty line at the end.
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('dialog del')].map((e) => e.textContent)"), ["− "])

    def test_draft_survives_a_reload(self):
        self.write(RULES + "// draft")
        self.page.wait_text("Changed, not published")
        self.page.evaluate("location.reload()")
        self.page.wait("document.querySelector('.editor textarea')?.value.endsWith('// draft')")
        self.page.click(".tools button", "Discard changes")
        self.page.click("dialog button.danger")
        self.page.wait_text("These rules are in force")
        self.assertEqual(self.text(), RULES)

    def simulate(self, operation, path, uid=None, value=None):
        self.page.choose("section[aria-label=Simulator] select", operation)
        self.page.fill("section[aria-label=Simulator] input", path)
        if uid:
            self.page.choose("section[aria-label=Simulator] .fields .field:nth-child(3) select", "user")
            self.page.fill("section[aria-label=Simulator] form > .field input", uid)
        if value is not None:
            self.page.fill("section[aria-label=Simulator] form > .field:nth-of-type(4) textarea", value)
        self.page.click("section[aria-label=Simulator] button.primary")

    def test_simulator_shows_the_value_of_each_part(self):
        self.simulate("write", "/mine/ann", "ann", '"text"')
        self.page.wait_text("✗ denied")
        values = self.page.text(".trace")
        self.assertIn('auth.uid = "ann"', values)
        self.assertIn("auth.uid === $uid = true", values)
        self.assertIn("newData.isNumber() = false", values)
        self.simulate("write", "/mine/ann", "ann", "5")
        self.page.wait_text("✓ allowed")

    def test_simulator_leads_to_the_rule(self):
        self.simulate("read", "/mine/ann")
        self.page.wait_text("✗ denied")
        self.page.click("section[aria-label=Decision] button.link, [aria-label=Decision] button.link")
        self.page.wait("document.activeElement.tagName === 'TEXTAREA'")
        start = self.page.evaluate("document.activeElement.selectionStart")
        self.assertEqual(RULES[:start].count("\n"), 4)

    def test_denials_open_in_the_simulator(self):
        self.server.request("GET", "/mine/bob.json", token=None)
        self.page.wait_text("/mine/bob", "[aria-label=Denials]")
        self.page.click("[aria-label=Denials] button", "Simulate")
        self.page.wait_text("✗ denied")
        self.assertEqual(self.page.evaluate("document.querySelector('section[aria-label=Simulator] input').value"), "/mine/bob")

    def test_invalid_value_is_explained(self):
        self.page.choose("section[aria-label=Simulator] select", "write")
        self.page.fill("section[aria-label=Simulator] form > .field:nth-of-type(4) textarea", "{")
        self.page.click("section[aria-label=Simulator] button.primary")
        self.notice("The value is no JSON")

    def run_tests(self, *cases):
        text = json.dumps({"data": {"mine": {"ann": 1}}, "tests": list(cases)})
        self.page.fill("section[aria-label=Tests] textarea", text.replace('{"name"', '\n{"name"'))
        self.page.click("section[aria-label=Tests] button.primary")

    def coverage(self):
        return self.page.evaluate("""[...document.querySelectorAll('table[aria-label=Coverage] tbody tr')].map((row) =>
            [...row.children].map((cell) => cell.innerText.trim()))""")

    def test_test_file_shows_its_coverage(self):
        self.run_tests({"name": "ann reads hers", "as": "ann", "read": "/mine/ann", "allowed": True},
                       {"name": "not bob's", "as": "ann", "read": "/mine/bob", "allowed": False},
                       {"name": "everybody", "read": "/open", "allowed": True})
        self.page.wait_text("✓ 3 of 3 passed")
        self.page.wait_text("3 of 9 outcomes of conditions seen")
        self.assertEqual(self.coverage(), [
            ["4", "true .read of /open", "1", "0", "✓ complete"],
            ["5", "auth.uid === $uid .read of /mine/$uid", "1", "1", "✓ complete"],
            ["5", "auth.uid === $uid .write of /mine/$uid", "0", "0", "✗ never evaluated"],
            ["5", "newData.isNumber() .write of /mine/$uid", "0", "0", "✗ never evaluated"],
            ["5", "auth.uid === $uid && newData.isNumber() .write of /mine/$uid", "0", "0", "✗ never evaluated"]])
        self.page.click("table[aria-label=Coverage] button.link", "4")
        self.page.wait("document.activeElement.closest('.editor')")
        start = self.page.evaluate("document.activeElement.selectionStart")
        self.assertEqual(RULES[:start].count("\n"), 3)

    def test_test_file_runs_on_the_text_in_the_editor(self):
        self.write(RULES.replace("auth.uid === $uid &&", "auth.uid !== $uid &&"))
        self.run_tests({"name": "<b>ann</b> writes", "as": "ann", "write": "/mine/ann", "value": 2, "allowed": True})
        self.page.wait_text("✗ 0 of 1 passed")
        self.page.wait_text("Line 2: <b>ann</b> writes")
        self.page.wait_text("expected: allowed")
        self.page.wait_text("came out: denied")
        self.assertIn("✗ never true", [row[-1] for row in self.coverage()])
        self.assertEqual(self.in_force(), RULES)

    def test_mistake_in_a_test_file_is_explained(self):
        self.page.fill("section[aria-label=Tests] textarea", '{"tests": [\n  {"reed": "/"}]}')
        self.page.click("section[aria-label=Tests] button.primary")
        self.notice("Line 2, column 12 of the tests: Unknown member 'reed': did you mean 'read'?")

    def test_long_rules_are_drawn_in_part(self):
        many = ",\n".join(f'"k{i}": {{".read": "auth.uid === \'{i}\'"}}' for i in range(4000))
        # As a paste: typing so much takes the browser longer.
        text = json.dumps('{"rules": {\n' + many + "\n}}")
        self.page.evaluate(f"""(() => {{ const area = document.querySelector('.editor textarea');
          area.value = {text}; area.dispatchEvent(new Event('input')); }})()""")
        self.page.wait("document.querySelectorAll('.paint > div').length > 5")
        self.assertLess(self.page.evaluate("document.querySelectorAll('.paint > div').length"), 100)
        self.page.evaluate("document.querySelector('.editor textarea').scrollTop = 40000")
        self.page.wait("document.querySelector('.gutter').textContent.includes('2001')")

    def test_tab_leaves_the_editor_and_indents_on_request(self):
        self.page.focus(".editor textarea")
        self.page.key("Tab")
        self.assertNotEqual(self.page.evaluate("document.activeElement.tagName"), "TEXTAREA")
        self.page.focus(".editor textarea")
        self.page.evaluate("document.activeElement.setSelectionRange(0, 0)")
        self.page.key("m", "ctrl")
        self.page.key("Tab")
        self.page.wait("document.querySelector('.editor textarea').value.startsWith('  {')")

    def test_hostile_denials_are_text(self):
        self.server.request("GET", "/mine/<img src=x onerror=alert(1)>.json", token=None)
        self.page.wait_text("<img src=x", "[aria-label=Denials]")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('#main img').length"), 0)
