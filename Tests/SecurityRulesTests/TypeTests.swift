import HearthJSONTree
import Testing

@testable import HearthSecurityRules

/// What the checker says of an expression below `/$id`: `ok`, or the message.
private func checking(_ expression: String, _ kind: RuleKind = .write) -> String {
    var text: [UInt8] = []
    JSONText.appendQuoted(Array(expression.utf8), to: &text)
    do throws(RulesError) {
        _ = try program("{\"$id\":{\"\(kind.rawValue)\":\(String(decoding: text, as: UTF8.self))}}")
        return "ok"
    } catch {
        return error.message
    }
}

@Suite("Types of expressions")
struct TypeTests {
    @Test(
        "what loads (docs/rules.md 3, 3.3)",
        arguments: [
            "true", "(false)", "!true", "!(true && false)", "true || false && true", "true ? false : true",
            "1 == 1", "1 === 1", "1 !== 2", "'a' == 1", "null == false", "auth == null", "auth.uid != null",
            "$id == 'x'", "$id > 1", "$id + 1 == 'x1'", "1 + 1 == 2", "data.val() + data.val() > 3",
            "data.val() == true", "data.val() > 5", "data.val() - 1 == 5", "-data.val() < 0", "-1 < -now", "- -1 == 1",
            "now - 1000 < data.child('t').val()", "now / 2 / 1 > 1", "now % 2 == 0",
            "data.exists()", "data['exists']()", "data [\"exists\"] ()", "newData.hasChildren()",
            "data.hasChildren([])",
            "data.hasChildren(['a', $id, auth.uid, data.val()])", "newData.hasChildren([\"a\"])",
            "root.child('a/b').child($id).parent().exists()", "data.child(auth.uid).hasChild('x')",
            "data.child(data.val()).exists()", "data.child(true ? 'a' : 1).exists()", "data.getPriority() == null",
            "data.val().length > 3", "$id.length == 20", "$id['length'] > 1", "data.val()['length'] < 5",
            "$id.contains('a')", "$id.beginsWith(auth.uid)", "$id.endsWith(data.val())", "$id.matches(/^a$/)",
            "$id.replace('a', 'b') == $id", "$id.toLowerCase().toUpperCase().length == 1",
            "data.val().contains('x')", "data.val().matches(/x/i)", "(data.val() + 'x').length < 5",
            "auth.token.admin == true", "auth.token.email.endsWith('@x.org')", "auth.uid.length == 5",
            "auth['uid'] == 'x'", "auth.token[$id] == true", "auth.uid[0] == null",
            "auth.token[auth.uid].a[1 + 1] == 2",
            "auth.token['a b'].c == null", "auth.token.matches(/x/)", "auth.a.b.c.d.e == 'f'", "auth > 1",
            "auth + 1 > 2",
            "query.where('a') == 1", "query.whereFrom('a/b') >= now && query.whereTo('.value').length < 5",
            "query.orderByKey", "query.orderByValue || query.orderByPriority", "query.limitToFirst <= 100",
            "query.orderByChild == 'x'", "query.equalTo == auth.uid", "query['startAt'] > 5", "query.endAt + 1 == 2",
            "query.limitToLast * 2 > 1", "(true ? data : newData).exists()", "(true ? 1 : null) == 1",
            "(true ? 1 : null) + 1 > 0", "(true ? data : 'x') == null", "(true ? 'a' : 'b').length == 1",
            "(true ? auth : 1).length == 1", "(true ? data.val() : null).contains('x')", "(true ? true : false)",
            "1.5 == 1.50", "1e3 == 1000", "2E-1 == 0.2",
            "'a\\'b' == \"a'b\"", "'\\n\\t\\x41\\u0042' == ''", "true\n&&\ttrue", "data . exists ( )", "((((true))))",
            "$id == '$id'", "'//' == '/*'",
            "auth.true == auth.null", "newData.parent().child('x').val() == now",
        ] as [String])
    func accepted(expression: String) {
        #expect(checking(expression) == "ok")
    }

    @Test(
        "what does not, and why (docs/rules.md 3.3)",
        arguments: [
            ("", "Unexpected end of the expression."),
            ("firebase", "Unknown variable 'firebase'."),
            ("$other == 'x'", "Unknown variable '$other'."),
            ("undefined == null", "Unknown variable 'undefined'."),
            ("True", "Unknown variable 'True'."),
            // The whole rule.
            ("1", "Expression must evaluate to a boolean."),
            ("'true'", "Expression must evaluate to a boolean."),
            ("null", "Expression must evaluate to a boolean."),
            ("auth.token.admin", "Expression must evaluate to a boolean."),
            ("data.val()", "Expression must evaluate to a boolean."),
            ("data", "Expression must evaluate to a boolean."),
            ("data.exists", "Expression must evaluate to a boolean."),
            ("query.limitToFirst", "Expression must evaluate to a boolean."),
            ("/a/", "Expression must evaluate to a boolean."),
            ("true ? true : null", "Expression must evaluate to a boolean."),
            ("true ? data.val() : true", "Expression must evaluate to a boolean."),
            // Logic.
            ("auth.uid && true", "Left operand of && must be boolean."),
            ("true && auth.uid", "Right operand of && must be boolean."),
            ("1 || true", "Left operand of || must be boolean."),
            ("true || data.val()", "Right operand of || must be boolean."),
            ("true || false || null", "Right operand of || must be boolean."),
            ("!auth", "! only operates on booleans."),
            ("!data.val()", "! only operates on booleans."),
            ("!1", "! only operates on booleans."),
            ("-true == 1", "- only operates on numbers."),
            ("-'a' == 1", "- only operates on numbers."),
            ("-null == 1", "- only operates on numbers."),
            ("1 ? true : false", "condition of ? must be boolean."),
            ("auth.x ? true : false", "condition of ? must be boolean."),
            // Equality.
            (
                "data == 1",
                "Invalid == expression: left operand is not a number, boolean, string, null."
            ),
            (
                "data.exists == 1",
                "Invalid == expression: left operand is not a number, boolean, string, null."
            ),
            ("/a/ == 1", "Invalid == expression: left operand is not a number, boolean, string, null."),
            (
                "1 == data",
                "Invalid == expression: right operand is not a number, boolean, string, or null."
            ),
            ("1 === query", "Invalid == expression: right operand is not a number, boolean, string, or null."),
            (
                "data != 1",
                "Invalid != expression: left operand is not a number, boolean, string, or null."
            ),
            ("1 !== root", "Invalid != expression: right operand is not a number, boolean, string, or null."),
            // Order.
            ("true < 1", "Invalid < expression: left operand must be a number or string."),
            ("1 < true", "Invalid < expression: right operand must be a number or string."),
            ("null <= 1", "Invalid <= expression: left operand must be a number or string."),
            ("1 > null", "Invalid > expression: right operand must be a number or string."),
            ("data >= 1", "Invalid >= expression: left operand must be a number or string."),
            ("1 < 2 < 3", "Invalid < expression: left operand must be a number or string."),
            // Arithmetic.
            ("true + 1 == 2", "Invalid + expression: left operand is not a number or string."),
            ("1 + null == 1", "Invalid + expression: right operand is not a number or string."),
            ("data + 1 == 2", "Invalid + expression: left operand is not a number or string."),
            ("'a' - 1 == 2", "Invalid - expression: left operand is not a number."),
            ("1 - 'a' == 2", "Invalid - expression: right operand is not a number."),
            ("$id * 2 == 2", "Invalid * expression: left operand is not a number."),
            ("2 / $id == 2", "Invalid / expression: right operand is not a number."),
            ("true % 2 == 2", "Invalid % expression: left operand is not a number."),
            // Members.
            ("data.foo", "No such method/property 'foo'."),
            ("data.numChildren() > 1", "No such method/property 'numChildren'."),
            ("data.length > 1", "No such method/property 'length'."),
            ("data['foo']()", "No such method/property 'foo'."),
            ("$id.foo == 1", "No such method/property 'foo'."),
            ("$id.exists()", "No such method/property 'exists'."),
            ("data.val().trim() == 'x'", "No such method/property 'trim'."),
            ("data.val().foo == 1", "No such method/property 'foo'."),
            ("'a'.val() == 1", "No such method/property 'val'."),
            ("query.foo == 1", "No such method/property 'foo'."),
            ("now.foo == 1", "Invalid property access: target is not an object."),
            ("true.foo == 1", "Invalid property access: target is not an object."),
            ("null.foo == 1", "Invalid property access: target is not an object."),
            ("/a/.foo == 1", "Invalid property access: target is not an object."),
            ("data.exists.foo == 1", "Invalid property access: target is not an object."),
            ("query.startAt.length == 1", "Invalid property access: target is not an object."),
            ("(true ? 1 : null).length == 1", "Invalid property access: target is not an object."),
            ("1['foo'] == 1", "Invalid property access: target is not an object."),
            ("data[1] == 1", "Invalid property access."),
            ("data[$id] == 1", "Invalid property access."),
            ("$id[0] == 'a'", "Invalid property access."),
            ("data.val()[0] == 'a'", "Invalid property access."),
            ("query[$id] == 'a'", "Invalid property access."),
            ("auth[data] == 'a'", "Invalid property access."),
            ("auth[true] == 'a'", "Invalid property access."),
            ("auth[null] == 'a'", "Invalid property access."),
            // Calls.
            ("$id.length() == 1", "Type error: Function call on target that is not a function."),
            ("auth.exists()", "Type error: Function call on target that is not a function."),
            ("auth() == 1", "Type error: Function call on target that is not a function."),
            ("now() == 1", "Type error: Function call on target that is not a function."),
            ("query.where == 1", "Invalid == expression: left operand is not a number, boolean, string, null."),
            ("query.where() == 1", "where() expects the path of a condition, as a string literal."),
            ("query.where('a', 'b') == 1", "where() expects the path of a condition, as a string literal."),
            ("query.whereFrom($id) == 1", "whereFrom() expects the path of a condition, as a string literal."),
            ("query.where('') == 1", "where() expects a path below the child, or '.value'."),
            ("query.whereTo('a//b') == 1", "whereTo() expects a path below the child, or '.value'."),
            ("query.where('a.b') == 1", "where() expects a path below the child, or '.value'."),
            ("query.wherever('a') == 1", "No such method/property 'wherever'."),
            ("query.where('a')", "Expression must evaluate to a boolean."),
            ("query.orderByKey()", "Type error: Function call on target that is not a function."),
            ("data.exists()()", "Type error: Function call on target that is not a function."),
            ("'a'() == 1", "Type error: Function call on target that is not a function."),
            (
                "(true ? data.exists : data.exists)()",
                "Type error: Function call on target that is not a function."
            ),
            ("foo() == 1", "Unknown variable 'foo'."),
            // Arrays.
            ("[] == 1", "Unexpected array literal."),
            ("['a'].length == 1", "Unexpected array literal."),
            ("(true ? ['a'] : ['b']) == 1", "Unexpected array literal."),
            ("data.child(['a']).exists()", "Unexpected array literal."),
            ("data.hasChildren([['a']])", "Unexpected array literal."),
            // Arguments.
            ("data.exists(1)", "exists() expects no arguments."),
            ("data.val('a') == 1", "val() expects no arguments."),
            ("data.parent(1).exists()", "parent() expects no arguments."),
            ("data.getPriority(1) == 1", "getPriority() expects no arguments."),
            ("data.isString(1)", "isString() expects no arguments."),
            ("$id.toLowerCase(1) == 'a'", "toLowerCase() expects no arguments."),
            ("data.child().exists()", "child() expects 1 argument."),
            ("data.child('a', 'b').exists()", "child() expects 1 argument."),
            ("data.hasChild()", "hasChild() expects 1 argument."),
            ("$id.contains()", "contains() expects 1 argument."),
            ("$id.beginsWith('a', 'b')", "beginsWith() expects 1 argument."),
            ("data.child(1).exists()", "child() expects a string argument."),
            ("data.child(null).exists()", "child() expects a string argument."),
            ("data.child(query.equalTo).exists()", "child() expects a string argument."),
            ("data.hasChild(true)", "hasChild() expects a string argument."),
            ("$id.contains(1)", "contains() expects a string argument."),
            ("$id.endsWith(data)", "endsWith() expects a string argument."),
            ("$id.replace('a') == 'b'", "replace() expects two arguments."),
            ("$id.replace() == 'b'", "replace() expects two arguments."),
            ("$id.replace(1, 'a') == 'b'", "Argument 1 of replace() must be a string."),
            ("$id.replace('a', null) == 'b'", "Argument 2 of replace() must be a string."),
            ("$id.replace(/a/, 'b') == 'b'", "Argument 1 of replace() must be a string."),
            ("$id.matches()", "matches() expects 1 regular expression literal argument."),
            ("$id.matches(/a/, /b/)", "matches() expects 1 regular expression literal argument."),
            ("$id.matches('a')", "matches() expects a regular expression literal argument."),
            ("$id.matches(data.val())", "matches() expects a regular expression literal argument."),
            (
                "data.hasChildren(['a'], ['b'])",
                "hasChildren() expects only a single argument (containing an array of child names)."
            ),
            ("data.hasChildren('a')", "hasChildren() expects an array of child names."),
            ("data.hasChildren(data.val())", "hasChildren() expects an array of child names."),
            ("data.hasChildren([1])", "hasChildren() expects an array of strings."),
            ("data.hasChildren(['a', null])", "hasChildren() expects an array of strings."),
            ("data.hasChildren([query.equalTo])", "hasChildren() expects an array of strings."),
            // What comes first is reported.
            ("data && firebase", "Left operand of && must be boolean."),
            ("firebase && data", "Unknown variable 'firebase'."),
            ("data.foo + null == 1", "No such method/property 'foo'."),
            // Not in the language.
            ("data = 1", "Rule expressions may not contain assignments."),
            ("now += 1", "Rule expressions may not contain assignments."),
            ("auth.uid = 'a'", "Rule expressions may not contain assignments."),
            ("1 ** 2 == 1", "Unexpected '*'."),
            ("true & true", "Unexpected '&'."),
            ("true | true", "Unexpected '|'."),
            ("1 ^ 2 == 1", "Unexpected '^'."),
            ("~1 == 1", "Unexpected '~'."),
            ("1 << 2 == 1", "Unexpected '<'."),
            ("1 >> 2 == 1", "Unexpected '>'."),
            ("'a' in auth", "Unexpected 'i'."),
            ("typeof auth == 'x'", "Unexpected 'a'."),
            ("new Date() == 1", "Unexpected 'D'."),
            ("function() {}", "Unexpected '{'."),
            ("{} == 1", "Unexpected '{'."),
            ("`a` == 'a'", "Unexpected '`'."),
            ("auth?.uid == 1", "Unexpected '.'."),
            ("auth ?? 1 == 1", "Unexpected '?'."),
            ("true; true", "Unexpected ';'."),
            ("true, true", "Unexpected ','."),
            ("+1 == 1", "Unexpected '+'."),
            ("true &&", "Unexpected end of the expression."),
            ("(true", "Expected ')', found the end of the expression."),
            ("true)", "Unexpected ')'."),
            ("data.exists(", "Unexpected end of the expression."),
            ("data.hasChildren(['a',])", "Unexpected ']'."),
            ("data.", "Unexpected end of the expression."),
            ("data.1", "Unexpected '1'."),
            ("true ? true", "Expected ':', found the end of the expression."),
            ("true // yes", "An expression may not contain comments."),
            ("true /* yes */", "An expression may not contain comments."),
            ("// no", "An expression may not contain comments."),
            ("0x10 == 16", "Unexpected 'x'."),
            (".5 == 0.5", "Unexpected '.'."),
            ("1. == 1", "Unexpected '='."),
            ("1e == 1", "Unexpected 'e'."),
            ("1a == 1", "Unexpected 'a'."),
            ("1e999 == 1", "The number is out of range."),
            ("'a", "unterminated string literal"),
            ("'a\"", "unterminated string literal"),
            ("'\\", "unterminated string literal"),
            ("'\\u00' == 'a'", "Invalid escape: hexadecimal digits are missing."),
            ("'\\ud800' == 'a'", "Invalid escape: an unpaired surrogate."),
            ("é == 1", "Unexpected 'é'."),
            ("$id.matches(/a", "unterminated regular expression literal"),
            ("$id.matches(/a\n/)", "unterminated regular expression literal"),
            ("$id.matches(/[/)", "unterminated regular expression literal"),
            ("$id.matches(/a/g)", "regular expressions do not support flags other than i"),
            ("$id.matches(/a/ii)", "regular expressions do not support flags other than i"),
        ] as [(String, String)])
    func refused(expression: String, message: String) {
        #expect(checking(expression) == message)
    }

    @Test("newData is for writes only; query is for all (docs/rules.md 3.1)")
    func kinds() {
        #expect(checking("newData.exists()", .read) == "newData is invalid in .read expressions.")
        #expect(checking("true || newData.exists()", .read) == "newData is invalid in .read expressions.")
        for kind in [.read, .write, .validate] as [RuleKind] { #expect(checking("query.orderByKey", kind) == "ok") }
        for kind in [.write, .validate] as [RuleKind] { #expect(checking("newData.exists()", kind) == "ok") }
    }

    @Test(
        "a wildcard is known at its own node and below (docs/rules.md 3.3)",
        arguments: [
            ("{\"$a\":{\".read\":\"$a == 'x'\"}}", true),
            ("{\"$a\":{\"b\":{\"c\":{\".read\":\"$a == 'x'\"}}}}", true),
            ("{\"$a\":{\"$b\":{\".read\":\"$a == $b\"}}}", true),
            ("{\"$a\":{},\".read\":\"$a == 'x'\"}", false),
            ("{\"x\":{\"$a\":{}},\"y\":{\".read\":\"$a == 'x'\"}}", false),
            ("{\"$a\":{\"b\":{}},\"c\":{\".read\":\"$a == 'x'\"}}", false),
        ] as [(String, Bool)])
    func wildcards(rules: String, isKnown: Bool) {
        #expect(((try? program(rules)) != nil) == isKnown)
    }
}
