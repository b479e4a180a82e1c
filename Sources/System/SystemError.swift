import Glibc

/// A system call that failed: the attempt and the `errno` it left.
@usableFromInline package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    package let attempt: String
    package let code: Int32

    package init(_ attempt: String, code: Int32) {
        self.attempt = attempt
        self.code = code
    }

    @usableFromInline package var description: String { "\(attempt): \(SystemError.text(of: code))" }

    package static func text(of code: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            // The XSI variant fills the buffer; an unknown code still leaves a text.
            buffer[0] = 0
            _ = strerror_r(code, buffer.baseAddress!, buffer.count)
            return String(cString: buffer.baseAddress!)
        }
    }

    /// Turns the result of a `CLinux` call, which is negative on failure, into a value or an error.
    package static func check(_ result: Int32, _ attempt: @autoclosure () -> String) throws(SystemError) -> Int32 {
        if result < 0 { throw SystemError(attempt(), code: -result) }
        return result
    }
}
