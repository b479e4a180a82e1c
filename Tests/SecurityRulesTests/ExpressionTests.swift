import HearthJSONTree
import Testing

@testable import HearthSecurityRules

/// What an expression comes to as the `.write` of `/rooms/$room/$id` when ann writes to `/rooms/r1/7`.
private func outcome(_ expression: String, auth: String? = ExpressionTests.ann) throws -> String {
    var text: [UInt8] = []
    JSONText.appendQuoted(Array(expression.utf8), to: &text)
    let rule = String(decoding: text, as: UTF8.self)
    let judge = RulesJudge(try program("{\"rooms\":{\"$room\":{\"$id\":{\".write\":\(rule)}}}}"))
    let scene = Scene(data: ExpressionTests.data, auth: auth)
    let write = RuleOperation.write([assignment("/rooms/r1/7", ExpressionTests.written)])
    let tree = MemoryTree(json(scene.data))
    let explanation = try judge.explain(write, try scene.context(), in: tree)
    // Noting what happens changes nothing.
    #expect(try judge.decide(write, try scene.context(), in: tree) == explanation.verdict)
    switch try #require(explanation.rules.first).outcome {
    case .isTrue: return "true"
    case .isFalse: return "false"
    case .error(let text): return text
    }
}

@Suite("Expressions at run time")
struct ExpressionTests {
    static let data = """
        {"rooms": {"r1": {
            "7": {"s": "héllo", "n": 5, "half": 2.5, "t": true, "f": false, "zero": 0, "empty": "", "quote": "a\\"b\\n",
                "in": {"x": 1}, "p": {".priority": 3, ".value": "v"}, "big": 12345678901, "small": 1e-7,
                "emoji": "😀", "high": "\\uff61"},
            "8": {".priority": "mid", "x": true}}},
         "users": {"ann": {"admin": true}, "7": 1}, "banned": {"a": true}, "k": "7"}
        """
    static let written = #"{"s":"new","at":1700000000000,"in":{"y":{".priority":4,".value":2}}}"#
    static let ann = """
        {"uid": "ann", "provider": "password", "token": {"email": "ann@x.org", "email_verified": true, "admin": null,
            "level": 3, "roles": {"editor": true, "a/b": 1, "5": "five"}, "list": ["a", 2, [true]], "length": 9,
            "https://x.org/claim": "yes", "firebase": {"sign_in_provider": "password"}}}
        """

    @Test(
        "literals and logic (docs/rules.md 3.4)",
        arguments: [
            ("true", "true"), ("false", "false"), ("!true", "false"), ("!!true", "true"),
            ("true && false", "false"), ("true || false", "true"), ("false || false || true", "true"),
            ("true || false && false", "true"), ("(true || false) && false", "false"), ("!true || true", "true"),
            ("true ? false : true", "false"), ("false ? false : true", "true"),
            ("false ? true : false ? true : true", "true"), ("(true ? true : false) ? false : true", "false"),
            // Only needed parts are evaluated.
            ("false && data.val() > 5", "false"),
            ("true || data.val() > 5", "true"), ("true ? true : data.val() > 5", "true"),
            // An error ends the rule, whatever surrounds it.
            ("data.val() > 5 || true", "only two numbers or two strings have an order"),
            ("!(data.val() > 5)", "only two numbers or two strings have an order"),
            ("false || data.val() > 5", "only two numbers or two strings have an order"),
            ("data.val() > 5 ? true : true", "only two numbers or two strings have an order"),
            ("(data.val() > 5) == false", "only two numbers or two strings have an order"),
        ] as [(String, String)])
    func logic(expression: String, expected: String) throws {
        #expect(try outcome(expression) == expected)
    }

    @Test(
        "equality never converts (docs/rules.md 3.4)",
        arguments: [
            ("1 == 1.0", "true"), ("5 == '5'", "false"), ("5 != '5'", "true"), ("1 == true", "false"),
            ("0 == false", "false"), ("'' == false", "false"), ("null == false", "false"), ("null == null", "true"),
            ("null === null", "true"), ("'a' === 'a'", "true"), ("'a' !== 'b'", "true"), ("'a' == 'A'", "false"),
            ("data.val() == null", "false"), ("data.val() != null", "true"), ("data.val() == data.val()", "false"),
            ("auth == null", "false"), ("auth == auth", "false"), ("data.child('none').val() == null", "true"),
            ("data.child('n').val() == 5", "true"), ("data.child('n').val() == '5'", "false"),
            ("data.child('zero').val() == null", "false"), ("data.child('f').val() == false", "true"),
            ("data.child('empty').val() == ''", "true"), ("data.child('s').val() == 'héllo'", "true"),
            ("data.child('quote').val() == 'a\"b\\n'", "true"),
            ("data.child('emoji').val() == '\\uD83D\\uDE00'", "true"),
            ("data.child('big').val() == 12345678901", "true"), ("data.child('small').val() == 1e-7", "true"),
            ("(true ? data : 'x') == null", "false"),
            ("(true ? data.exists : 'x') == (true ? data.exists : 'x')", "false"),
            ("0 == -0", "true"), ("0.1 + 0.2 == 0.3", "false"), ("true == (1 == 1)", "true"),
        ] as [(String, String)])
    func equality(expression: String, expected: String) throws {
        #expect(try outcome(expression) == expected)
    }

    static let noOrder = "only two numbers or two strings have an order"
    static let noSum = "+ takes numbers and strings only"
    static let noNumber = "arithmetic with something that is not a number"

    @Test(
        "order and arithmetic (docs/rules.md 3.4)",
        arguments: [
            ("1 < 2", "true"), ("2 <= 2", "true"), ("2 > 2", "false"), ("2 >= 2", "true"), ("-1 > -2", "true"),
            ("'a' < 'b'", "true"), ("'a' < 'B'", "false"), ("'a' < 'aa'", "true"), ("'' < 'a'", "true"),
            ("'10' < '9'", "true"), ("'a' <= 'a'", "true"), ("'b' >= 'a'", "true"),
            // By UTF-16 code units, in which U+FF61 comes after the surrogates.
            ("data.child('high').val() > data.child('emoji').val()", "true"),
            ("1 < '2'", noOrder), ("$id < 8", noOrder), ("data.child('none').val() < 1", noOrder),
            ("data.child('t').val() < 1", noOrder), ("auth < 1", noOrder), ("data.val() < data.val()", noOrder),
            ("1 + 2 == 3", "true"), ("'a' + 'b' == 'ab'", "true"), ("5 + '' == '5'", "true"),
            ("'' + 2.5 == '2.5'", "true"),
            ("'' + -0.5 == '-0.5'", "true"), ("1 + 2 + 'a' == '3a'", "true"), ("'a' + 1 + 2 == 'a12'", "true"),
            ("'' + 12345678901 == '12345678901'", "true"), ("data.child('half').val() + '' == '2.5'", "true"),
            ("'a' + data.child('none').val() == 'a'", noSum), ("'a' + data.child('t').val() == 'atrue'", noSum),
            ("'a' + auth == 'a'", noSum), ("data.child('none').val() + 1 == 1", noSum),
            ("'a' + data.val() == 'a'", noSum),
            ("5 - 7 == -2", "true"), ("3 * 4 == 12", "true"), ("7 / 2 == 3.5", "true"),
            ("data.child('n').val() / 2 == 2.5", "true"), ("7 % 3 == 1", "true"), ("-7 % 3 == -1", "true"),
            ("7.5 % 2 == 1.5", "true"), ("2 + 3 * 4 == 14", "true"), ("(2 + 3) * 4 == 20", "true"),
            ("10 - 2 - 3 == 5", "true"), ("24 / 2 / 3 == 4", "true"), ("2 * 3 % 4 == 2", "true"), ("- -2 == 2", "true"),
            ("-data.child('n').val() == -5", "true"), ("1 < 2 == true", "true"), ("1 + 1 < 3 && 2 * 2 > 3", "true"),
            ("1 / 0 == 1 / 0", "false"), ("1 / 0 > 0", "false"), ("1 / 0 <= 0", "false"), ("1 / 0 != 1 / 0", "true"),
            ("'' + 1 / 0 == 'NaN'", "true"), ("5 % 0 == 5", "false"),
            ("data.child('s').val() - 1 == 1", noNumber), ("data.child('none').val() * 1 == 0", noNumber),
            ("-auth.uid == 1", noNumber), ("data.child('t').val() / 1 == 1", noNumber),
            ("query.limitToFirst % 2 == 1", noNumber),
        ] as [(String, String)])
    func arithmetic(expression: String, expected: String) throws {
        #expect(try outcome(expression) == expected)
    }

    @Test(
        "variables (docs/rules.md 3.1)",
        arguments: [
            ("$room == 'r1' && $id == '7'", "true"), ("$id == 7", "false"), ("$id.length == 1", "true"),
            ("now == 1700000000000", "true"), ("newData.child('at').val() == now", "true"),
            ("root.child('k').val() == $id", "true"), ("data.child('s').val() == 'héllo'", "true"),
            ("newData.child('s').val() == 'new'", "true"), ("newData.child('n').exists()", "false"),
            ("data.child('n').exists()", "true"), ("newData.parent().child('8/x').val() == true", "true"),
            ("data.parent().child('7/n').val() == 5", "true"),
            ("newData.parent().child('7/n').exists()", "false"),
            ("newData.parent().parent().parent().child('k').val() == '7'", "true"),
            ("root.child('rooms/r1/7/s').val() == 'héllo'", "true"), ("root.parent().exists()", "no parent"),
            ("data.parent().parent().parent().exists()", "true"),
            ("data.parent().parent().parent().parent().exists()", "no parent"),
            ("data.child('a/b').parent().parent().child('n').val() == 5", "true"),
            ("root.child('users').child(auth.uid).child('admin').val() == true", "true"),
            ("root.child('users/' + auth.uid + '/admin').val() == true", "true"),
            ("root.child('users').child($id).val() == 1", "true"),
            ("(false ? data : newData).child('s').val() == 'new'", "true"),
        ] as [(String, String)])
    func variables(expression: String, expected: String) throws {
        #expect(try outcome(expression) == expected)
    }

    @Test(
        "snapshots (docs/rules.md 3.2)",
        arguments: [
            ("data.exists()", "true"), ("data.child('zero').exists()", "true"), ("data.child('f').exists()", "true"),
            ("data.child('empty').exists()", "true"), ("data.child('none').exists()", "false"),
            ("data.child('s/x').exists()", "false"), ("data.child('in/x').exists()", "true"),
            ("data.child('/in/x').exists()", "true"), ("data.child('in').child('x').exists()", "true"),
            // A part that is not a key names nothing.
            ("data.child('').exists()", "false"), ("data.child('/').exists()", "false"),
            ("data.child('in/').exists()", "false"),
            ("data.child('in//x').exists()", "false"), ("data.child('//in').exists()", "false"),
            ("root.child('banned/a@b.c').exists()", "false"), ("data.child('in/.').exists()", "false"),
            ("data.child('in/../n').exists()", "false"), ("data.child('.priority').exists()", "false"),
            ("data.child('a#').child('n').exists()", "false"), ("data.child('a#').parent().exists()", "no parent"),
            ("root.child('users/' + data.child('empty').val()).exists()", "false"),
            ("data.hasChild('n')", "true"), ("data.hasChild('in/x')", "true"), ("data.hasChild('none')", "false"),
            ("data.hasChild('')", "false"),
            ("data.hasChildren()", "true"), ("data.child('n').hasChildren()", "false"),
            ("data.child('none').hasChildren()", "false"),
            ("data.hasChildren(['n', 's'])", "true"), ("data.hasChildren(['n', 'none'])", "false"),
            ("data.hasChildren(['in/x', 'n'])", "true"), ("data.hasChildren([])", "true"),
            ("data.child('n').hasChildren([])", "true"), ("data.child('none').hasChildren([])", "true"),
            ("data.child('s').isString()", "true"), ("data.child('n').isString()", "false"),
            ("data.isString()", "false"),
            ("data.child('none').isString()", "false"), ("data.child('p').isString()", "true"),
            ("data.child('n').isNumber()", "true"), ("data.child('half').isNumber()", "true"),
            ("data.child('s').isNumber()", "false"),
            ("data.child('t').isBoolean()", "true"), ("data.child('f').isBoolean()", "true"),
            ("data.child('n').isBoolean()", "false"),
            ("data.child('in').isBoolean()", "false"),
            ("data.child('p').val() == 'v'", "true"), ("data.child('p').getPriority() == 3", "true"),
            ("data.getPriority() == null", "true"), ("data.child('none').getPriority() == null", "true"),
            ("data.parent().child('8').getPriority() == 'mid'", "true"),
            ("newData.child('in/y').getPriority() == 4", "true"),
            ("newData.child('in/y').val() == 2", "true"), ("newData.child('in').hasChildren(['y'])", "true"),
            // An argument that is no string is an error.
            ("data.child(data.child('n').val()).exists()", "not a string"),
            ("data.hasChild(auth.none)", "not a string"),
            ("data.child(true ? 1 : null).exists()", "not a string"), ("data.hasChildren([auth.none])", "not a string"),
            ("!data.hasChildren(['none', auth.none])", "not a string"),
            ("!data.hasChildren([auth.none, 'none'])", "not a string"),
        ] as [(String, String)])
    func snapshots(expression: String, expected: String) throws {
        #expect(try outcome(expression) == expected)
    }

    @Test(
        "strings (docs/rules.md 3.2)",
        arguments: [
            ("'hello'.length == 5", "true"), ("''.length == 0", "true"), ("data.child('s').val().length == 5", "true"),
            ("data.child('emoji').val().length == 2", "true"), ("data.child('none').val().length == 0", "not a string"),
            ("data.child('none').val().length > 0", "not a string"),
            ("data.child('n').val().length == null", "not a string"),
            ("'hello'.contains('ell')", "true"), ("'hello'.contains('Ell')", "false"), ("'hello'.contains('')", "true"),
            ("'hello'.contains('hello!')", "false"), ("'aab'.contains('ab')", "true"),
            ("'hello'.beginsWith('he')", "true"), ("'hello'.beginsWith('el')", "false"),
            ("'hello'.beginsWith('')", "true"),
            ("'hello'.endsWith('lo')", "true"), ("'ababa'.endsWith('aba')", "true"), ("'a'.endsWith('aa')", "false"),
            ("'hello'.endsWith('')", "true"),
            ("'a-b-c'.replace('-', '+') == 'a+b+c'", "true"), ("'aaa'.replace('aa', 'b') == 'ba'", "true"),
            ("'abc'.replace('/a/g', 'x') == 'abc'", "true"), ("'abc'.replace('', 'x') == 'abc'", "true"),
            ("'abc'.replace('b', '') == 'ac'", "true"), ("'a.b'.replace('.', ',') == 'a,b'", "true"),
            ("'a/g/g'.replace('/g', '') == 'a'", "true"),
            ("'HeLLo'.toLowerCase() == 'hello'", "true"), ("'HeLLo'.toUpperCase() == 'HELLO'", "true"),
            ("'É'.toLowerCase() == 'é'", "true"), ("'ß'.toUpperCase() == 'SS'", "true"),
            ("'room-12'.matches(/^room-[0-9]+$/)", "true"), ("'Room-12'.matches(/^room/)", "false"),
            ("'Room-12'.matches(/^room/i)", "true"), ("'xay'.matches(/a/)", "true"),
            ("$id.matches(/^[0-9]$/)", "true"), ("auth.token.email.endsWith('@x.org')", "true"),
            ("auth.token.email.replace('.', ',') == 'ann@x,org'", "true"),
            ("auth.token.email.toUpperCase().beginsWith('ANN')", "true"),
            ("data.child('n').val().contains('5')", "not a string"),
            ("data.child('none').val().matches(/a/)", "not a string"),
            ("'a'.contains(data.child('n').val())", "not a string"),
            ("'a'.replace(auth.none, 'b') == 'a'", "not a string"),
            ("auth.token.level.contains('3')", "not a string"), ("data.val().contains('a')", "not a string"),
            ("(data.child('s').val() + '!').endsWith('!')", "true"),
        ] as [(String, String)])
    func strings(expression: String, expected: String) throws {
        #expect(try outcome(expression) == expected)
    }

    @Test(
        "auth when signed in (docs/rules.md 3.1)",
        arguments: [
            ("auth != null", "true"), ("auth.uid == 'ann'", "true"), ("auth['uid'] == 'ann'", "true"),
            ("auth.provider == 'password'", "true"), ("auth.token.email_verified == true", "true"),
            ("auth.token.email_verified === 'true'", "false"), ("auth.token.admin == null", "true"),
            ("auth.token.level > 2", "true"), ("auth.token.roles.editor == true", "true"),
            ("auth.token.roles[$id] == null", "true"), ("auth.token.roles['a/b'] == 1", "true"),
            ("auth.token['https://x.org/claim'] == 'yes'", "true"), ("auth.token.roles[2 + 3] == 'five'", "true"),
            ("auth.token.list[0] == 'a'", "true"), ("auth.token.list[1] == 2", "true"),
            ("auth.token.list[2][0] == true", "true"),
            ("auth.token.list[3] == null", "true"), ("auth.token.list[-1] == null", "true"),
            ("auth.token.list[0.5] == null", "true"),
            ("auth.token.list['0'] == null", "true"), ("auth.token.list.length == 3", "true"),
            ("auth.token.length == 9", "true"),
            ("auth.uid.length == 3", "true"), ("auth.uid.foo == null", "true"), ("auth.uid[0] == null", "true"),
            ("auth.a.b.c == null", "true"), ("auth.token.roles != null", "true"), ("auth.token.list != null", "true"),
            ("auth.tenant == null", "true"), ("auth.token.firebase.sign_in_provider == 'password'", "true"),
            ("auth.token[auth.uid] == null", "true"), ("auth[data.val()] == null", "true"),
        ] as [(String, String)])
    func auth(expression: String, expected: String) throws {
        #expect(try outcome(expression) == expected)
    }

    @Test(
        "auth when signed out",
        arguments: [
            ("auth == null", "true"), ("auth.uid == null", "true"), ("auth.uid != 'x'", "true"),
            ("auth.token.a.b == null", "true"),
            ("auth['uid'] == null", "true"), ("auth[$id] == null", "true"), ("auth.uid.length == null", "true"),
            ("auth != null && auth.uid == $id", "false"), ("auth.uid == $id", "false"),
            ("root.child('users').child(auth.uid).exists()", "not a string"),
            ("root.child('users/' + auth.uid).exists()", noSum), ("auth.uid.contains('a')", "not a string"),
            ("auth.token.level > 1", noOrder),
        ] as [(String, String)])
    func signedOut(expression: String, expected: String) throws {
        #expect(try outcome(expression, auth: nil) == expected)
    }

    @Test("strings that grow beyond the limit are errors")
    func tooLong() throws {
        let long = "'0000000000000000000000000000000000000000'"
        func replacing(_ times: Int) -> String {
            (0..<times).reduce(long) { text, _ in "\(text).replace('0', \(long))" }
        }
        #expect(try outcome("\(replacing(2)).length == 64000") == "true")
        #expect(try outcome("\(replacing(4)).length > 0") == "the string becomes longer than 10485760 bytes")
    }

    @Test("claims that are no JSON object are no auth")
    func badClaims() {
        let broken: [(String, JSONError)] = [
            ("", JSONError(.unexpectedEnd, at: 0)), ("5", JSONError(.unexpectedByte(UInt8(ascii: "5")), at: 0)),
            ("[]", JSONError(.unexpectedByte(UInt8(ascii: "[")), at: 0)),
            ("null", JSONError(.unexpectedByte(UInt8(ascii: "n")), at: 0)),
            ("{\"a\":}", JSONError(.unexpectedByte(UInt8(ascii: "}")), at: 5)),
            ("{\"a\":1}}", JSONError(.trailingBytes, at: 7)),
            (String(repeating: "{\"a\":", count: 40), JSONError(.tooDeep(limit: 32), at: 160)),
            ("{\"a\":[1,]}", JSONError(.unexpectedByte(UInt8(ascii: "]")), at: 8)),
        ]
        for (text, error) in broken {
            #expect(throws: error, "\(text)") { try RuleAuth(json: Array(text.utf8)) }
        }
        #expect(throws: Never.self) { try RuleAuth(json: Array("{\"a\":[ ], \"b\" : [ 1 , {} ]}".utf8)) }
        #expect(throws: Never.self) { try RuleAuth(uid: [0x61], provider: nil, claims: Array("{}".utf8)) }
    }
}
