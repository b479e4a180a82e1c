import Testing

/// What a program gets that uses the client, and on which systems.
@Suite("The client's modules") struct ClientTests {
    /// All but the transport that is for Linux.
    private static let modules = Manifest.closure(of: "HearthClient", without: "EventLoopTransport").sorted()

    @Test("use nothing that only Linux has, apart from their transport", arguments: modules)
    func portable(module: String) {
        #expect(!["CLinux", "COpenSSL", "EventLoop", "System"].contains(module))
        for file in SourceTree.swiftFiles(in: "Sources/\(module)") {
            var condition: Substring?
            for (place, line) in file.numbered {
                let text = line.drop { $0 == " " }
                if text.hasPrefix("#") { condition = text }
                guard !line.isComment else { continue }
                if line.has("InlineArray") || line.has(" of ") {
                    #expect(!line.contains(#/\bInlineArray\b|\[\d+ of /#), "\(place): \(line)")
                }
                if line.has("import "), let system = text.wholeMatch(of: #/import (Glibc|Musl|Darwin)/#)?.1 {
                    #expect(condition?.hasSuffix("if canImport(\(system))") == true, "\(place)")
                }
            }
        }
    }

    /// Lines of code, in Swift and C, that a program gets with the client, but for the transport. What only servers or
    /// tools use has rooms of its own: `ServerCodecs`, `ServerProtocol`, `TreeText`, `TreeQueries`, `Connection`.
    private static let linesMax = 15_000

    @Test("have at most 15,000 lines of code, in Swift and C")
    func size() {
        let sizes = Self.modules.map { module in
            (module, SourceTree.codeFiles(in: "Sources/\(module)").reduce(0) { $0 + $1.codeLines })
        }
        for (module, lines) in sizes { #expect(lines > 0, "\(module)") }
        let total = sizes.reduce(0) { $0 + $1.1 }
        #expect(total <= Self.linesMax, "\(total) lines: \(sizes)")
    }
}

extension SourceTree.File {
    /// Lines that hold code: not blank, and not only a comment.
    fileprivate var codeLines: Int {
        lines.count { line in !line.isComment && line.contains { $0 != " " } }
    }
}
