import Glibc

/// Small files that a benchmark hands to its target.
enum TextFile {
    static func write(_ text: String, to path: String) throws(BenchError) {
        guard let file = fopen(path, "w") else { throw BenchError("write \(path)", code: -Int(errno)) }
        defer { fclose(file) }
        let count = text.utf8.count
        guard fwrite(text, 1, count, file) == count else { throw BenchError("write \(path)", code: -Int(errno)) }
    }
}
