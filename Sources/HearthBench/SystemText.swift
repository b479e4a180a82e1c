import Glibc

/// Small texts from the system.
package enum SystemText {
    /// The meaning of an `errno`.
    package static func error(_ code: Int) -> String { String(cString: strerror(Int32(code))) }

    /// The content of a file under `/proc` or `/sys`; empty if it cannot be read.
    package static func file(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        let isRead = withUnsafeTemporaryAllocation(byteCount: 16384, alignment: 1) { buffer in
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                if count <= 0 { return count == 0 }
                bytes.append(contentsOf: buffer[..<count])
            }
        }
        return isRead ? String(decoding: bytes, as: UTF8.self) : ""
    }

    /// The value after `name`, white space and a colon at the beginning of a line.
    package static func field(_ name: String, of text: String) -> Substring? {
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            let rest = line.dropFirst(name.count).drop(while: \.isWhitespace)
            if rest.first == ":" { return rest.dropFirst().drop(while: \.isWhitespace) }
        }
        return nil
    }
}
