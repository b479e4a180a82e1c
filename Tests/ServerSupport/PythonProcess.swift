import Glibc

/// Programs of other people, which tests use where they are installed: nothing is downloaded for them. They are for the
/// Python that `HEARTH_PYTHON` names, or else for `python3`.
package enum PythonProcess {
    private static let python = getenv("HEARTH_PYTHON").map { String(cString: $0) } ?? "/usr/bin/python3"

    /// Whether there are these modules.
    package static func has(_ modules: String...) async -> Bool {
        guard access(python, X_OK) == 0 else { return false }
        let words = ["-W", "ignore", "-c", "import \(modules.joined(separator: ", "))"]
        let process = try? HearthProcess(program: python, words)
        return (try? await process?.outcome().code) == 0
    }

    /// Runs a script of `Tests/Scripts`.
    package static func start(
        _ script: String, _ words: String..., environment: [String: String] = [:]
    ) throws -> HearthProcess {
        let folder = "\(#filePath)".split(separator: "/").dropLast(2).joined(separator: "/")
        return try HearthProcess(
            program: python, ["-W", "ignore", "/\(folder)/Scripts/\(script)"] + words, environment: environment)
    }
}
