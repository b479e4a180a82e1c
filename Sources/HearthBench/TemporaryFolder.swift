import Glibc

/// A folder of its own that is removed with all that is in it.
final class TemporaryFolder {
    let path: String

    init(in parent: String) throws(BenchError) {
        let made = Remains.beginFolder {
            guard let pattern = strdup(parent + "/hearth-bench.XXXXXX") else { return nil }
            defer { free(pattern) }
            return mkdtemp(pattern) == nil ? nil : String(cString: pattern)
        }
        guard let made else { throw BenchError("make a folder in \(parent)", code: -Int(errno)) }
        path = made
    }

    deinit { Remains.endFolder(path) }
}
