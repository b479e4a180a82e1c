import Testing

/// A comment that cites a chapter helps only if the chapter exists: `Protocol.md 16.1`, `docs/rules.md 3.4`. Documents in
/// `docs/protocol` are cited by their names: `rest.md 4`.
@Suite("Citations") struct CitationTests {
    /// The numbers of a document's chapters: `## 4. Requests`, `### 4.2 Listen`.
    private static func chapters(of document: String) -> Set<String> {
        var chapters: Set<String> = []
        for line in SourceTree.file(document)?.lines ?? [] {
            if let match = line.wholeMatch(of: #/##+ ([0-9]+(?:\.[0-9]+)?)\.? .*/#) { chapters.insert(String(match.1)) }
        }
        return chapters
    }

    /// All citations in the sources: of which chapters of which document.
    private static let citations: [(place: SourceTree.Place, document: Substring, chapters: [Substring])] = {
        let citation = #/([A-Za-z\/-]+\.md) ([0-9]+(?:\.[0-9]+)?(?:, [0-9]+(?:\.[0-9]+)?)*)/#
        return SourceTree.swiftFiles(in: "Sources", "Tests", "Examples", "Fuzz/Sources").flatMap { file in
            file.numbered.filter { $0.line.has(".md ") }.flatMap { place, line in
                line.matches(of: citation).map { (place, $0.1, $0.2.split(separator: ", ")) }
            }
        }
    }()

    @Test(
        "of chapters lead to chapters",
        arguments: [
            "Protocol.md", "docs/rules.md", "docs/protocol/rest.md", "docs/protocol/long-polling.md",
            "docs/protocol/accounts.md", "docs/protocol/administration.md",
        ])
    func chapters(document: String) {
        let name = document.hasPrefix("docs/protocol/") ? document.dropFirst("docs/protocol/".count) : document[...]
        let chapters = Self.chapters(of: document)
        #expect(!chapters.isEmpty)
        let citations = Self.citations.filter { $0.document == name }
        #expect(!citations.isEmpty)
        for citation in citations {
            for chapter in citation.chapters {
                #expect(chapters.contains(String(chapter)), "\(citation.place): \(document) has no chapter \(chapter)")
            }
        }
    }

    /// The actions in the table of Protocol.md 14 whose heading begins like this.
    private static func indexed(_ heading: String) -> Set<String> {
        let chapter = SourceTree.file("Protocol.md")?.lines.drop { !$0.hasPrefix("## 14. ") } ?? []
        let rows = chapter.drop { !$0.hasPrefix(heading) }.drop { !$0.hasPrefix("| `") || $0.hasPrefix("| `a`") }.prefix
        { $0.hasPrefix("| `") }
        let names = rows.compactMap { $0.dropFirst().split(separator: "|").first }
        return Set(names.flatMap { $0.matches(of: #/`([a-z]+)`/#).map { String($0.1) } })
    }

    private static func names(_ pattern: Regex<(Substring, Substring)>, in file: String) -> Set<String> {
        Set(SourceTree.file(file)?.lines.flatMap { $0.matches(of: pattern).map { String($0.1) } } ?? [])
    }

    @Test("of actions in the index are those of the code")
    func actions() {
        let parser = "Sources/ServerProtocol/ClientMessage+Parse.swift"
        let requests = Self.names(#/action\.equals\("([a-z]+)"\)/#, in: parser)
            .union(Self.names(#/ascii: "([a-z])"/#, in: parser))
        let pushes = Self.names(#/\{"a":"([a-z]+)"/#, in: "Sources/ServerProtocol/ServerMessageWriter.swift")
        #expect(Self.indexed("Requests").subtracting(["admin"]) == requests)
        #expect(Self.indexed("Pushes") == pushes)
    }

    @Test("name only documents that readers have")
    func documents() {
        let unknown = #/\((wire-protocol|rest|auth|rules) [0-9].*/#
        for file in SourceTree.swiftFiles(in: "Sources", "Tests", "Examples", "Fuzz/Sources") {
            for (place, line) in file.numbered where line.isComment || line.has("@Test") {
                guard line.has("(wire-protocol ") || line.has("(rest ") || line.has("(auth ") || line.has("(rules ")
                else { continue }
                #expect(!line.contains(unknown), "\(place): \(line)")
            }
        }
    }
}
