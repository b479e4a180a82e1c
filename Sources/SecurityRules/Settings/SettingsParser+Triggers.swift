import HearthBytes
import HearthJSONTree

/// `.trigger` (docs/using/triggers.md 1).
extension SettingsParser {
    private static var form: String {
        #"'.trigger' is an object such as {"name": "ship", "on": "created", "url": "https://…"}, or a list of these."#
    }
    private static let known = [
        "binary", "command", "concurrency", "name", "on", "retry", "secret", "url", "when",
    ]
    private static let periods: [Character: Int64] = ["s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
    private static let addressLengthMax = 2000

    mutating func triggers(_ pattern: IndexPattern) throws(Mistake) {
        try forEachOfOneOrMore { (parser) throws(Mistake) in try parser.appendTrigger(pattern) }
    }

    private mutating func appendTrigger(_ pattern: IndexPattern) throws(Mistake) {
        let start = reader.offset
        guard try reader.peek() == UInt8(ascii: "{") else { throw Mistake(Self.form, at: start) }
        var name: String?
        var kind: TriggerDefinition.Kind?
        var target: TriggerDefinition.Target?
        var trigger = TriggerDefinition(name: "", pattern: pattern, kind: .written, target: .command(""))
        try forEachMember { (parser, key, offset) throws(Mistake) in
            switch key.string {
            case "name": name = try parser.triggerName()
            case "on": kind = try parser.triggerKind()
            case "when": trigger.filter = try parser.filter(pattern)
            case "url", "command":
                if target != nil { throw Mistake("A trigger has either a 'url' or a 'command'.", at: offset) }
                target = key.string == "url" ? .url(try parser.address()) : .command(try parser.commandName())
            case "secret":
                try parser.forEachOfOneOrMore { (parser) throws(Mistake) in
                    trigger.secrets.append(try parser.secret())
                }
            case "binary": trigger.isBinary = try parser.flag("binary")
            case "concurrency": trigger.concurrency = try parser.concurrency()
            case "retry": trigger.retryTime = try parser.retryTime()
            default: throw Mistake.unknown("property of '.trigger':", key.string, known: Self.known, at: offset)
            }
        }
        guard let name, let kind, let target else { throw Mistake(Self.form, at: start) }
        if trigger.secrets.count > 2 {
            throw Mistake("A trigger has at most two secrets: the new and the old.", at: start)
        }
        if triggers.contains(where: { $0.name == name }) {
            throw Mistake("There is another trigger of the name '\(name)'.", at: start)
        }
        (trigger.name, trigger.kind, trigger.target) = (name, kind, target)
        triggers.append(trigger)
    }

    private mutating func text(_ expected: String) throws(Mistake) -> String {
        guard try reader.peek() == UInt8(ascii: "\"") else { throw Mistake(expected, at: reader.offset) }
        return try reader.string().string
    }

    private mutating func triggerName() throws(Mistake) -> String {
        let offset = reader.offset
        let expected = "'name' of '.trigger' has 1 to \(TriggerDefinition.nameLengthMax) letters, digits, '-' and '_'."
        let name = try text(expected)
        guard TriggerDefinition.isValidName(name) else { throw Mistake(expected, at: offset) }
        return name
    }

    private mutating func triggerKind() throws(Mistake) -> TriggerDefinition.Kind {
        let offset = reader.offset
        let expected = "'on' of '.trigger' is 'created', 'updated', 'deleted' or 'written'."
        guard let kind = TriggerDefinition.Kind(rawValue: try text(expected)) else {
            throw Mistake(expected, at: offset)
        }
        return kind
    }

    private mutating func address() throws(Mistake) -> String {
        let offset = reader.offset
        let expected = "'url' of '.trigger' is an address such as 'https://example.org/hook'."
        let url = try text(expected)
        guard let scheme = ["https://", "http://"].first(where: url.hasPrefix), url.utf8.count <= Self.addressLengthMax,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            Self.isAuthority(url.dropFirst(scheme.count).prefix { !"/?#".contains($0) })
        else { throw Mistake(expected, at: offset) }
        return url
    }

    /// Whether it is a host, and a port if there is one: no user, whose password would be in logs.
    private static func isAuthority(_ text: Substring) -> Bool {
        let isBracketed = text.hasPrefix("[")
        let hostEnd = isBracketed ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":")
        if isBracketed, hostEnd == nil { return false }
        let port = text[(hostEnd ?? text.endIndex)...]
        guard port.count < text.count, !text.contains("@") else { return false }
        if port.isEmpty { return true }
        return port.hasPrefix(":") && port.utf8.dropFirst().allSatisfy { $0 &- UInt8(ascii: "0") <= 9 }
            && UInt16(port.dropFirst()) ?? 0 > 0
    }

    private mutating func commandName() throws(Mistake) -> String {
        let offset = reader.offset
        let expected = "'command' of '.trigger' is the name of a program in the folder of --trigger-commands."
        let name = try text(expected)
        let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.allSatisfy(TriggerDefinition.isValidName) else { throw Mistake(expected, at: offset) }
        return name
    }

    /// `whsec_` and Base64 of 24 to 64 bytes (Standard Webhooks).
    private mutating func secret() throws(Mistake) -> [UInt8] {
        let offset = reader.offset
        let expected =
            "'secret' of '.trigger' is 'whsec_' and the Base64 of 24 to 64 bytes: 'hearth triggers secret' makes one."
        let text = try text(expected)
        guard text.hasPrefix("whsec_"), let bytes = Base64.standard.decode(Array(text.utf8.dropFirst(6))),
            (24...64).contains(bytes.count)
        else { throw Mistake(expected, at: offset) }
        return bytes
    }

    private mutating func flag(_ name: String) throws(Mistake) -> Bool {
        if reader.skipIf(word: "true") { return true }
        if reader.skipIf(word: "false") { return false }
        throw Mistake("'\(name)' of '.trigger' is true or false.", at: reader.offset)
    }

    private mutating func concurrency() throws(Mistake) -> Int {
        let offset = reader.offset
        guard let count = try reader.wholeNumber(), (1...TriggerDefinition.concurrencyMax).contains(count) else {
            throw Mistake(
                "'concurrency' of '.trigger' is a number from 1 to \(TriggerDefinition.concurrencyMax).", at: offset)
        }
        return count
    }

    /// `"3d"`
    private mutating func retryTime() throws(Mistake) -> Int64 {
        let offset = reader.offset
        let expected = "'retry' of '.trigger' is a time up to 30 days, such as '3d', '12h', '30m' or '0s'."
        let text = try text(expected)
        guard let unit = text.last.flatMap({ Self.periods[$0] }), let count = Int64(text.dropLast()), count >= 0,
            count <= TriggerDefinition.retryTimeMax / unit
        else { throw Mistake(expected, at: offset) }
        return count * unit
    }

    /// The expression is compiled in place, so mistakes in it are reported there.
    private mutating func filter(_ pattern: IndexPattern) throws(Mistake) -> TriggerFilter {
        guard try reader.peek() == UInt8(ascii: "\"") else {
            throw Mistake("'when' of '.trigger' is an expression of the rules.", at: reader.offset)
        }
        let text = try reader.string()
        let depths = pattern.segments.indices.filter { pattern.segments[$0] == nil }
        let named = zip(wildcards, depths).map { (name: $0, depth: $1 + 1) }
        do throws(Mistake) {
            let syntax = try ExpressionParser.parse(text.utf8)
            var checker = Checker(scope: .init(kind: .write, wildcards: named), code: Code())
            let root = try checker.rule(syntax)
            return TriggerFilter(
                expression: text, pattern: pattern, wildcards: wildcards, code: checker.code, root: root)
        } catch {
            throw Mistake(error.message, at: Int(text.offsets[min(error.offset, text.offsets.count - 1)]))
        }
    }
}
