import Testing

@Suite("Documents") struct LinkTests {
    private static let documents = SourceTree.documents()

    /// The names by which links lead to the headings of each document: `### 4.2 Listen: `q`` is `42-listen-q`.
    private static let anchors: [String: Set<String>] = Dictionary(
        documents.map { file in
            let names = file.lines.filter { $0.hasPrefix("#") }.map { line in
                line.drop { $0 == "#" || $0 == " " }.lowercased().replacing(/[^a-z0-9_ -]/, with: "")
                    .replacing(" ", with: "-")
            }
            return (file.path, Set(names))
        }
    ) { $1 }

    @Test("link to files and headings that exist")
    func links() {
        #expect(Self.documents.count > 10)
        let link = #/\]\(([^)#:]*)(?:#([^)]*))?\)/#
        for file in Self.documents {
            let folder = file.path.split(separator: "/").dropLast()
            var isCode = false
            for (place, line) in file.numbered {
                if line.hasPrefix("```") { isCode.toggle() }
                guard !isCode, line.has("](") else { continue }
                for match in line.matches(of: link) {
                    var parts = match.1.isEmpty ? file.path.split(separator: "/") : Array(folder)
                    for part in match.1.split(separator: "/") {
                        if part == ".." { _ = parts.popLast() } else { parts.append(part) }
                    }
                    let path = parts.joined(separator: "/")
                    #expect(SourceTree.exists(path), "\(place): there is no \(path)")
                    guard let heading = match.2, let anchors = Self.anchors[path] else { continue }
                    #expect(anchors.contains(String(heading)), "\(place): \(path) has no heading \(heading)")
                }
            }
        }
    }
}
