import HearthJSONTree

/// Conditions as people write them, as text of the protocol's (Protocol.md 18.3):
///
///     state == "open" and (priority > 2 or tags has "urgent")
///
/// Paths are relative to each child; one with spaces or brackets is quoted. Values are JSON. `and` binds before `or`.
struct ConditionWords {
    private enum Token: Equatable {
        case open
        case close
        /// A token between white space and signs, such as a path, a number or an operator.
        case word(String)
        /// JSON text.
        case string(String)
        case list(String)
    }

    /// Deeper ones the server would refuse.
    private static let depthMax = 100

    private var tokens: ArraySlice<Token>
    private var depth = 0

    /// The text of one condition.
    static func condition(_ text: String) throws(ShellError) -> String {
        var words = ConditionWords(tokens: try tokens(text)[...])
        let condition = try words.alternatives()
        if let token = words.tokens.first { throw .usage("'\(describe(token))' is too much in the condition") }
        return condition
    }

    private init(tokens: ArraySlice<Token>) { self.tokens = tokens }

    // MARK: Grammar

    private mutating func alternatives() throws(ShellError) -> String {
        try list("or") { (words) throws(ShellError) in
            try words.list("and") { (words) throws(ShellError) in try words.test() }
        }
    }

    private mutating func list(
        _ word: String, _ part: (inout ConditionWords) throws(ShellError) -> String
    ) throws(ShellError) -> String {
        var parts = [try part(&self)]
        while tokens.first == .word(word) {
            tokens.removeFirst()
            parts.append(try part(&self))
        }
        return parts.count == 1 ? parts[0] : "[\"\(word)\",\(parts.joined(separator: ","))]"
    }

    private mutating func test() throws(ShellError) -> String {
        if tokens.first == .open {
            tokens.removeFirst()
            depth += 1
            defer { depth -= 1 }
            if depth > Self.depthMax { throw .usage("the condition is nested too deep") }
            let inner = try alternatives()
            guard tokens.popFirst() == .close else { throw .usage("a bracket of the condition is not closed") }
            return inner
        }
        let path: String
        switch tokens.popFirst() {
        case .word(let word)? where !Self.isSign(word.first): path = Self.quoted(word)
        case .string(let text)?: path = text
        case let other?: throw .usage("a path is missing in the condition before '\(Self.describe(other))'")
        case nil: throw .usage("a path is missing at the end of the condition")
        }
        guard case .word(let word)? = tokens.popFirst(), Self.operators.contains(word) else {
            throw .usage("after \(path) the condition needs one of \(Self.operators.joined(separator: ", "))")
        }
        return "[\(path),\"\(word)\",\(try value(for: word))]"
    }

    private static let operators = ["==", "!=", "<", "<=", ">", ">=", "in", "not-in", "has", "starts"]

    private mutating func value(for word: String) throws(ShellError) -> String {
        switch tokens.popFirst() {
        case .string(let text)?, .list(let text)?: return text
        case .word(let value)?:
            let isNumber = value.first.map { $0.isNumber || $0 == "-" } ?? false
            guard isNumber || ["null", "true", "false"].contains(value) else {
                throw .usage("'\(value)' is not a value; a string is written '\"\(value)\"'")
            }
            return value
        case .open?, .close?, nil: throw .usage("a value is missing after '\(word)'")
        }
    }

    // MARK: Tokens

    private static func isSign(_ character: Character?) -> Bool { character.map { "=!<>".contains($0) } ?? false }

    private static func tokens(_ text: String) throws(ShellError) -> [Token] {
        var tokens: [Token] = []
        var rest = Substring(text)
        while let first = rest.first {
            switch first {
            case let space where space.isWhitespace: rest.removeFirst()
            case "(", ")":
                tokens.append(first == "(" ? .open : .close)
                rest.removeFirst()
            case "\"": tokens.append(.string(try takeString(&rest)))
            case "[": tokens.append(.list(try takeList(&rest)))
            case _ where isSign(first): tokens.append(.word(take(&rest) { isSign($0) }))
            default: tokens.append(.word(take(&rest) { !$0.isWhitespace && !"()\"[".contains($0) && !isSign($0) }))
            }
        }
        return tokens
    }

    private static func take(_ rest: inout Substring, while isPart: (Character) -> Bool) -> String {
        let part = rest.prefix(while: isPart)
        rest.removeFirst(part.count)
        return String(part)
    }

    private static func takeString(_ rest: inout Substring) throws(ShellError) -> String {
        var text = String(rest.removeFirst())
        while let character = rest.popFirst() {
            text.append(character)
            if character == "\"" { return text }
            if character == "\\", let escaped = rest.popFirst() { text.append(escaped) }
        }
        throw .usage("the quote \" is not closed")
    }

    private static func takeList(_ rest: inout Substring) throws(ShellError) -> String {
        var text = ""
        while let character = rest.first {
            if character == "\"" {
                text += try takeString(&rest)
                continue
            }
            text.append(rest.removeFirst())
            if character == "]" { return text }
        }
        throw .usage("a bracket is not closed")
    }

    private static func quoted(_ text: String) -> String {
        var out: [UInt8] = []
        JSONText.appendQuoted(Array(text.utf8), to: &out)
        return String(decoding: out, as: UTF8.self)
    }

    private static func describe(_ token: Token) -> String {
        switch token {
        case .open: "("
        case .close: ")"
        case .word(let text), .string(let text), .list(let text): text
        }
    }
}
