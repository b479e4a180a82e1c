import Testing

@Suite("docs/protocol/accounts.md") struct AccountsDocumentTests {
    /// Finds the values of `<name>`s in a text.
    private static func match(_ pattern: String, _ text: String) -> [String: String]? {
        var values: [String: String] = [:]
        var text = text[...]
        var parts = pattern.split(separator: "<", omittingEmptySubsequences: false)[...]
        guard let first = parts.popFirst(), text.hasPrefix(first) else { return nil }
        text = text.dropFirst(first.count)
        for part in parts {
            let pieces = part.split(separator: ">", maxSplits: 1, omittingEmptySubsequences: false)
            guard pieces.count == 2 else { return nil }
            let value = text.prefix { $0 != "\"" }
            text = text.dropFirst(value.count)
            guard !value.isEmpty, text.hasPrefix(pieces[1]) else { return nil }
            guard values.updateValue(String(value), forKey: String(pieces[0])).map({ $0 == value }) ?? true else {
                return nil
            }
            text = text.dropFirst(pieces[1].count)
        }
        return text.isEmpty ? values : nil
    }

    @Test("the exchanges are the server's", arguments: ProtocolDocument.shared.blocks("accounts"))
    func replay(block: ProtocolDocument.Block) throws {
        let client = try IdentityClient()
        var values: [String: String] = [:]
        for index in stride(from: 0, to: block.lines.count, by: 2) {
            var request = block.lines[index]
            for (name, value) in values { request = request.replacing("<\(name)>", with: value) }
            let parts = request.split(separator: " ", maxSplits: 2).map(String.init)
            let answer = try client.rest.ask(parts[0], parts[1], [], parts[2])
            let found = Self.match(block.lines[index + 1], "\(answer.status) \(answer.text)")
            #expect(found != nil, "\(block.place(index)): \(answer.status) \(answer.text)")
            values.merge(found ?? [:]) { $1 }
        }
    }
}
