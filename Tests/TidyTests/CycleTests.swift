import Testing

/// Files of a module refer to the types of other files in one direction only, so each can be understood after those that
/// it uses.
@Suite("Files of a module") struct CycleTests {
    @Test("do not refer to one another in circles", arguments: Manifest.rooms.keys.sorted())
    func circles(room: String) {
        let uses = Self.uses(in: SourceTree.swiftFiles(in: "Sources/\(room)"))
        #expect(!uses.isEmpty)
        #expect(Self.circles(in: uses).isEmpty)
    }

    @Test("that form a circle are found")
    func found() {
        func file(_ name: String, _ text: String) -> SourceTree.File {
            SourceTree.File(path: "Sources/M/\(name).swift", lines: text.split(separator: "\n"))
        }
        let files = [
            file("A", "struct A { var b: B }"), file("B", "final class B {\n    // A\n    let text = \"A\"\n}"),
            file("A+More", "extension A { func f(_ c: C) {} }"), file("C", "enum C { case a(Int) }"),
        ]
        #expect(Self.circles(in: Self.uses(in: files)).isEmpty)
        let back = files + [file("C+More", "extension C { static func make() -> A? { nil } }")]
        #expect(Self.circles(in: Self.uses(in: back)) == [["A", "C"]])
    }

    /// Which other files each one uses, by their names. `Type+….swift` counts as a part of `Type.swift`.
    private static func uses(in files: [SourceTree.File]) -> [String: Set<String>] {
        func name(_ file: SourceTree.File) -> Substring {
            (file.path.split(separator: "/").last ?? "").dropLast(".swift".count)
        }
        let names = Set(files.map(name))
        func whole(_ file: SourceTree.File) -> String {
            let first = name(file).prefix { $0 != "+" }
            return String(names.contains(first) ? first : name(file))
        }
        var places: [String: String] = [:]
        var used: [String: Set<Substring>] = [:]
        for file in files {
            let place = whole(file)
            for words in code(of: file) {
                if let declared = declaration(words) { places[declared] = place }
                // A name after a point is that of a nested type.
                for (index, word) in words.enumerated() where word.first?.isUppercase == true {
                    if index == 0 || words[index - 1] != "." { used[place, default: []].insert(word) }
                }
            }
        }
        var uses: [String: Set<String>] = [:]
        for (place, words) in used {
            uses[place] = Set(words.compactMap { places[String($0)] }).subtracting([place])
        }
        return uses
    }

    /// The words and points of each line, without comments and literals. Indentation is a space.
    private static func code(of file: SourceTree.File) -> [[Substring]] {
        var isInText = false
        return file.lines.map { line in
            if line.has("\"\"\"") {
                isInText.toggle()
                return []
            }
            return isInText ? [] : words(of: line)
        }
    }

    private static func words(of line: Substring) -> [Substring] {
        var words: [Substring] = line.first == " " ? [" "] : []
        var start: Substring.Index?
        var isQuoted = false
        var last: UInt8 = 0
        for index in line.utf8.indices {
            let byte = line.utf8[index]
            defer { last = byte == UInt8(ascii: "\\") && last == byte ? 0 : byte }
            if byte == UInt8(ascii: "\""), last != UInt8(ascii: "\\") { isQuoted.toggle() }
            if isWordByte(byte), !isQuoted {
                start = start ?? index
                continue
            }
            if let start { words.append(line[start..<index]) }
            start = nil
            if isQuoted { continue }
            if byte == UInt8(ascii: "/"), last == byte { return words }
            if byte == UInt8(ascii: ".") { words.append(".") }
        }
        if let start { words.append(line[start...]) }
        return words
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// The type that a line at the top level of a file declares for other files.
    private static func declaration(_ words: [Substring]) -> String? {
        guard words.first != " ", !words.contains("private"), !words.contains("fileprivate") else { return nil }
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "actor", "typealias"]
        guard let kind = words.firstIndex(where: kinds.contains), kind + 1 < words.count else { return nil }
        return String(words[kind + 1])
    }

    /// The largest sets of files in which each one refers to every other, if only through others.
    private static func circles(in uses: [String: Set<String>]) -> Set<Set<String>> {
        func reached(from file: String) -> Set<String> {
            var reached: Set<String> = []
            var waiting = Array(uses[file] ?? [])
            while let next = waiting.popLast() {
                if reached.insert(next).inserted { waiting += uses[next] ?? [] }
            }
            return reached
        }
        let reached = Dictionary(uniqueKeysWithValues: uses.keys.map { ($0, reached(from: $0)) })
        var circles: Set<Set<String>> = []
        for (file, others) in reached where others.contains(file) {
            circles.insert(others.filter { reached[$0]?.contains(file) ?? false })
        }
        return circles
    }
}
