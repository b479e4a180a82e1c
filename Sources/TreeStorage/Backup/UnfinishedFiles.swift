import Glibc
import Synchronization

/// The files of this process that are not whole yet, so that they can be removed when it is told to end.
package enum UnfinishedFiles {
    private static let paths = Mutex<Set<String>>([])

    /// Runs `body`, which makes a file or a folder.
    ///
    /// - returns: the result of `body`; its file is removed at the end of the process unless it is whole by then.
    package static func making<Value>(_ path: String, _ body: () -> Value) -> Value {
        paths.withLock { paths in
            paths.insert(path)
            return body()
        }
    }

    /// Runs `body`, after which the file or folder is whole, or is not there any more.
    package static func ending<Value>(_ path: String, _ body: () -> Value) -> Value {
        paths.withLock { paths in
            defer { paths.remove(path) }
            return body()
        }
    }

    /// Removes all of them, and ends the process. Meanwhile no other thread makes one, or gives one its name.
    package static func removeAll(exitCode: Int32) -> Never {
        paths.withLock { paths in
            for path in paths.sorted() { remove(path) }
            _exit(exitCode)
        }
    }

    /// A file, or a folder with files and no folders into which another thread may be writing.
    private static func remove(_ path: String) {
        if unlink(path) == 0 { return }
        // Under its new name no more files are created in it.
        let removed = path + ".removed"
        guard rename(path, removed) == 0 else { return }
        for _ in 0..<100 {
            for file in FolderContents(removed).files { unlink("\(removed)/\(file)") }
            if rmdir(removed) == 0 { return }
        }
    }
}
