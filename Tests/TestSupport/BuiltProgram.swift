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

    /// Where a program is; nil if it was not built.
    package static func path(_ name: String) -> String? {
        guard let folder, access("\(folder)/\(name)", X_OK) == 0 else { return nil }
        return "\(folder)/\(name)"
    }
}
