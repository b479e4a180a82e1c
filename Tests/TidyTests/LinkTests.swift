import Testing

@Suite("Documents") struct LinkTests {
    private static let documents = SourceTree.documents()

    @Test("link to files that exist")
    func links() {
        #expect(Self.documents.count > 10)
        let link = #/\]\(([^)#:]+)(?:#[^)]*)?\)/#
        for file in Self.documents {
            let folder = file.path.split(separator: "/").dropLast()
            var isCode = false
            for (place, line) in file.numbered {
                if line.hasPrefix("```") { isCode.toggle() }
                guard !isCode, line.has("](") else { continue }
                for match in line.matches(of: link) {
                    var parts = Array(folder)
                    for part in match.1.split(separator: "/") {
                        if part == ".." { _ = parts.popLast() } else { parts.append(part) }
                    }
                    let path = parts.joined(separator: "/")
                    #expect(SourceTree.exists(path), "\(place): there is no \(path)")
                }
            }
        }
    }
}
