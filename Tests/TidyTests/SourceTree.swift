import Glibc
import Synchronization

extension Substring {
    /// Whether `text` occurs in it. Much faster than a regular expression, so lines are asked this first.
    func has(_ text: StaticString) -> Bool {
        var copy = self
        return copy.withUTF8 { line in
            var from = 0
            while from + text.utf8CodeUnitCount <= line.count, let start = line.baseAddress {
                guard let next = memchr(start + from, Int32(text.utf8Start[0]), line.count - from) else { return false }
                from = UnsafeRawPointer(next) - UnsafeRawPointer(start)
                guard from + text.utf8CodeUnitCount <= line.count else { return false }
                if memcmp(start + from, text.utf8Start, text.utf8CodeUnitCount) == 0 { return true }
                from += 1
            }
            return false
        }
    }

    /// Whether runs of spaces align its parts.
    var isTable: Bool { drop { $0 == " " }.has("   ") }

    var isComment: Bool {
        var copy = self
        return copy.withUTF8 { line in
            var start = 0
            while start < line.count, line[start] == UInt8(ascii: " ") { start += 1 }
            return start + 1 < line.count && line[start] == UInt8(ascii: "/") && line[start + 1] == UInt8(ascii: "/")
        }
    }
}

/// The text files of this repository.
struct SourceTree {
    struct File: Sendable {
        /// Relative to the root of the repository.
        let path: String
        let lines: [Substring]

        /// Each line with a place that a failed test can name.
        var numbered: some Sequence<(place: Place, line: Substring)> {
            lines.enumerated().lazy.map { (Place(path: path, number: $0 + 1), $1) }
        }
    }

    struct Place: CustomStringConvertible, Sendable {
        let path: String
        let number: Int

        var description: String { "\(path):\(number)" }
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

    /// All tests read the same files.
    private static let files = Mutex<[String: File]>([:])

    static func file(_ path: String) -> File? {
        if let known = files.withLock({ $0[path] }) { return known }
        let file = read(path)
        files.withLock { $0[path] = file }
        return file
    }

    private static func read(_ path: String) -> File? {
        guard let stream = fopen("\(root)/\(path)", "r") else { return nil }
        defer { fclose(stream) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&buffer, 1, buffer.count, stream), count > 0 { bytes += buffer[..<count] }
        return File(path: path, lines: lines(of: bytes))
    }

    /// Faster than `split`, where code is not optimised.
    private static func lines(of bytes: [UInt8]) -> [Substring] {
        bytes.withUnsafeBytes { bytes in
            var lines: [Substring] = []
            var start = 0
            while start < bytes.count, let end = memchr(bytes.baseAddress! + start, 10, bytes.count - start) {
                let next = UnsafeRawPointer(end) - bytes.baseAddress!
                lines.append(Substring(decoding: bytes[start..<next], as: UTF8.self))
                start = next + 1
            }
            return lines + [Substring(decoding: bytes[start...], as: UTF8.self)]
        }
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
