import Glibc
package import HearthSystem

/// The file `development` in a data folder that a server in development mode has written to: anybody could plant
/// accounts, rules and data there, so a server in production does not take the folder without being told to.
package struct DevelopmentMark {
    private let path: String

    package init(in folder: String) { path = folder + "/development" }

    package var isSet: Bool { access(path, F_OK) == 0 }

    package func set() throws(PrivateFile.Failure) {
        if isSet { return }
        let text = "A server in development mode has written to this folder: anybody could be anybody.\n"
        try PrivateFile.replace(path, with: Array(text.utf8))
    }

    package func remove() throws(PrivateFile.Failure) { try PrivateFile.remove(path) }
}
