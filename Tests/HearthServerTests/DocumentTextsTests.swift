import Testing

@testable import HearthClusterSharing

@Suite("The documents that a node has taken over") struct DocumentTextsTests {
    private func names(_ texts: DocumentTexts) -> [[String]] {
        texts.pending.map { $0.map { "\($0.name) \(String(decoding: $0.text, as: UTF8.self))" } }
    }

    private func learn(_ texts: inout DocumentTexts, _ name: String, _ text: String) {
        texts.learn([(name, Array(text.utf8))])
    }

    @Test("rules and settings that were refused are replaced in one step with the newest of both")
    func pairs() {
        var texts = DocumentTexts()
        texts.learn([("settings:a", Array("s1".utf8)), ("rules:a", Array("r1".utf8))])
        #expect(names(texts) == [["rules:a r1", "settings:a s1"]])
        // It is refused, and the rules alone change.
        learn(&texts, "rules:a", "r2")
        #expect(names(texts) == [["rules:a r2", "settings:a s1"]])
        for group in texts.pending { texts.take(group) }
        #expect(names(texts) == [])
        learn(&texts, "settings:a", "s2")
        #expect(names(texts) == [["settings:a s2"]])
        #expect(!texts.isTaken("settings:a"))
        #expect(texts.isTaken("rules:a"))
    }

    @Test("others stand alone, and stay until they are taken over")
    func others() {
        var texts = DocumentTexts()
        learn(&texts, "signing-keys", "k1")
        learn(&texts, "settings:a", "s1")
        learn(&texts, "rules:b", "r1")
        #expect(names(texts) == [["rules:b r1"], ["settings:a s1"], ["signing-keys k1"]])
        learn(&texts, "signing-keys", "k2")
        texts.take(texts.pending[0])
        #expect(names(texts) == [["settings:a s1"], ["signing-keys k2"]])
    }
}
