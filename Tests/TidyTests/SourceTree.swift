import Glibc

extension Substring {
    /// Whether `text` occurs in it. Much faster than a regular expression, so lines are asked this first.
    func has(_ text: StaticString) -> Bool {
        var copy = self
        return copy.withUTF8 { line in
            let last = line.count - text.utf8CodeUnitCount
            guard last >= 0, let start = line.baseAddress else { return false }
            return (0...last).contains { memcmp(start + $0, text.utf8Start, text.utf8CodeUnitCount) == 0 }
        }
    }

    /// Whether runs of spaces align its parts.
    var isTable: Bool { drop { $0 == " " }.has("   ") }

    var isComment: Bool { drop { $0 == " " }.hasPrefix("//") }
}

/// The text files of this repository.
struct SourceTree {
    struct File: Sendable {
        /// Relative to the root of the repository.
        let path: String
        let lines: [Substring]

        /// Each line with a place that a failed test can name.
        var numbered: some Sequence<(place: String, line: Substring)> {
            lines.enumerated().lazy.map { ("\(path):\($0 + 1)", $1) }
        }
    }

    static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        .joined(separator: "/")

    /// All Swift files below these folders, in path order.
    static func swiftFiles(in folders: String...) -> [File] {
        folders.flatMap { paths(below: $0) }.filter { $0.hasSuffix(".swift") }.compactMap(file)
    }

    /// All files in Swift and C below a folder, in path order.
    static func codeFiles(in folder: String) -> [File] {
        paths(below: folder).filter { $0.hasSuffix(".swift") || $0.hasSuffix(".c") || $0.hasSuffix(".h") }
            .compactMap(file)
    }

    /// All documents, those at the root included.
    static func documents() -> [File] {
        let folders = ["docs", "deploy", "Examples", "Fuzz", "Sources", "Tests"].flatMap { paths(below: $0) }
        return (folders + names(in: ".")).filter { $0.hasSuffix(".md") }.compactMap(file)
    }

    static func exists(_ path: String) -> Bool { access("\(root)/\(path)", F_OK) == 0 }

    static func file(_ path: String) -> File? {
        guard let stream = fopen("\(root)/\(path)", "r") else { return nil }
        defer { fclose(stream) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&buffer, 1, buffer.count, stream), count > 0 { bytes += buffer[..<count] }
        let text = String(decoding: bytes, as: UTF8.self)
        return File(path: path, lines: text.split(separator: "\n", omittingEmptySubsequences: false))
    }

    /// All files below a folder, in path order. Build products, whose folders begin with a dot, are not among them.
    private static func paths(below folder: String) -> [String] {
        names(in: folder).flatMap { name in
            let path = "\(folder)/\(name)"
            var status = stat()
            guard stat("\(root)/\(path)", &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return [path] }
            return paths(below: path)
        }
    }

    private static func names(in folder: String) -> [String] {
        guard let directory = opendir("\(root)/\(folder)") else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}
