import Testing

/// A comment that cites a chapter helps only if the chapter exists: `Protocol.md 16.1`, `docs/rules.md 3.4`.
@Suite("Citations") struct CitationTests {
    /// The numbers of a document's chapters: `## 4. Requests`, `### 4.2 Listen`.
    private static func chapters(of document: String) -> Set<String> {
        var chapters: Set<String> = []
        for line in SourceTree.file(document)?.lines ?? [] {
            if let match = line.wholeMatch(of: #/##+ ([0-9]+(?:\.[0-9]+)?)\.? .*/#) { chapters.insert(String(match.1)) }
        }
        return chapters
    }

    @Test("of chapters lead to chapters", arguments: ["Protocol.md", "docs/rules.md"])
    func chapters(document: String) {
        let chapters = Self.chapters(of: document)
        #expect(!chapters.isEmpty)
        let citation = #/([A-Za-z/]+\.md) ([0-9]+(?:\.[0-9]+)?(?:, [0-9]+(?:\.[0-9]+)?)*)/#
        var count = 0
        for file in SourceTree.swiftFiles(in: "Sources", "Tests", "Examples", "Fuzz/Sources") {
            for (place, line) in file.numbered where line.has(".md ") {
                for match in line.matches(of: citation) where match.1 == document {
                    for chapter in match.2.split(separator: ", ") {
                        count += 1
                        #expect(chapters.contains(String(chapter)), "\(place): \(document) has no chapter \(chapter)")
                    }
                }
            }
        }
        #expect(count > 0)
    }

    @Test("name only documents that readers have")
    func documents() {
        let unknown = #/\((wire-protocol|rest|auth|rules) [0-9].*/#
        for file in SourceTree.swiftFiles(in: "Sources", "Tests", "Examples", "Fuzz/Sources") {
            for (place, line) in file.numbered where line.has("(") && (line.isComment || line.has("@Test")) {
                #expect(!line.contains(unknown), "\(place): \(line)")
            }
        }
    }
}
