import Testing

@Suite("Sources") struct SourceTests {
    @Test("files have at most 500 lines, and comments at most 120 columns", arguments: ["Sources", "Examples"])
    func lengths(folder: String) {
        let files = SourceTree.swiftFiles(in: folder)
        #expect(!files.isEmpty)
        for file in files {
            #expect(file.lines.count <= 500, "\(file.path) has \(file.lines.count) lines")
            // A comment that lays out a file format in columns may be wider.
            for (place, line) in file.numbered where line.utf8.count > 120 && line.isComment && !line.isTable {
                #expect(line.count <= 120, "\(place): \(line.count) columns")
            }
        }
    }

    @Test("every unsafe promise says why it holds")
    func unsafe() {
        let promise = #/@unchecked Sendable|nonisolated\(unsafe\)|unowned\(unsafe\)/#
        let files = SourceTree.swiftFiles(in: "Sources", "Examples")
        #expect(!files.isEmpty)
        for file in files {
            for (index, line) in file.lines.enumerated() {
                guard line.has("unsafe)") || line.has("@unchecked"), !line.isComment, line.contains(promise) else {
                    continue
                }
                let around = file.lines[max(0, index - 8)..<min(file.lines.count, index + 6)]
                let reason = around.contains { $0.has("Safe because") || $0.has("safe because") }
                #expect(reason, "\(file.path):\(index + 1): \(line)")
            }
        }
    }

    /// Members of a `package` type are inlined and specialised in other modules only if the type is usable from there.
    @Test("types with inlinable members are usable from inline")
    func inlinable() {
        let files = SourceTree.swiftFiles(in: "Sources").filter { $0.lines.contains { $0.has("@inlinable") } }
        #expect(!files.isEmpty)
        for file in files {
            var isUsable = true
            for (place, line) in file.numbered {
                if let first = line.first, first.isLetter || first == "@" {
                    isUsable = !line.contains(#/^(@frozen )?package (final )?(struct|enum|class|actor) /#)
                }
                #expect(isUsable || !line.has("@inlinable"), "\(place): its type is not @usableFromInline")
            }
        }
    }

    @Test("nothing forces: no try!, no as!")
    func forced() {
        let files = SourceTree.swiftFiles(in: "Sources", "Examples")
        #expect(!files.isEmpty)
        for file in files {
            for (place, line) in file.numbered where !line.isComment {
                #expect(!line.has("try! ") && !line.has(" as! "), "\(place): \(line)")
            }
        }
    }
}
