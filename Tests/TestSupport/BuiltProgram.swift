import Glibc

/// Programs that were built with the tests.
package enum BuiltProgram {
    /// The folder of the program that runs the tests, in which the others are as well.
    private static let folder: String? = {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        guard count > 0 else { return nil }
        return String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            .split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    }()

    /// Where a program is: in the folder `HEARTH_PROGRAMS`, or else with the tests; nil if it was not built.
    package static func path(_ name: String) -> String? {
        let folders = [getenv("HEARTH_PROGRAMS").map { String(cString: $0) }, folder].compactMap { $0 }
        return folders.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }
}
