/// Why a benchmark failed, or a fault that it found in a target: one line for people.
package struct BenchError: Error, Equatable {
    package var message: String

    init(_ message: String) { self.message = message }

    /// A system call that failed, with the negated `errno` that it returned.
    init(_ attempt: String, code: Int) { message = "\(attempt): \(SystemText.error(-code))" }
}
