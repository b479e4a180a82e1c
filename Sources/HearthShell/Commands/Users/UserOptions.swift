import Glibc
import HearthAdmin

/// The members of a user in the options. An empty text removes one.
struct UserOptions {
    var texts: [String: String] = [:]
    private let isVerified: Bool?

    /// The options of `create` and `update` other than the address.
    static let options: [CommandOption] = [
        .init(name: "verified", value: "YES|NO", help: "the address is the user's"),
        .init(name: "password", value: "TEXT|-", isSecret: true, help: "- reads a line of standard input"),
        .init(name: "name", value: "TEXT", help: "the name that is shown"),
        .init(name: "photo", value: "URL", help: "a picture"),
        .init(name: "phone", value: "NUMBER", help: "the telephone number, such as +15555550100"),
    ]

    /// - parameter isNew: there is nothing yet that could be removed.
    init(_ session: ShellSession, _ arguments: ShellArguments, isNew: Bool) throws(ShellError) {
        for option in ["uid", "email", "name", "photo", "phone", "password"] {
            guard var value = arguments[option] else { continue }
            if option == "password", value == "-" {
                try session.expectInput()
                guard let line = readLine() else { throw .data("no password on standard input") }
                value = line
            }
            let mayBeEmpty = !isNew && ["name", "photo", "phone"].contains(option)
            guard mayBeEmpty || !value.isEmpty else { throw arguments.misused("--\(option) is empty") }
            texts[option] = value
        }
        isVerified = try arguments["verified"].map { (text) throws(ShellError) in
            guard let value = ["yes": true, "true": true, "no": false, "false": false][text.lowercased()] else {
                throw arguments.misused("--verified is yes or no, not '\(text)'")
            }
            return value
        }
    }

    var isEmpty: Bool { texts.isEmpty && isVerified == nil }

    var newUser: NewUser {
        NewUser(
            uid: texts["uid"], email: texts["email"], isEmailVerified: isVerified ?? false,
            password: texts["password"], displayName: texts["name"], photoURL: texts["photo"],
            phoneNumber: texts["phone"])
    }

    var update: UserUpdate {
        func change(_ option: String) -> UserUpdate.Change? { texts[option].map { $0.isEmpty ? .remove : .set($0) } }
        return UserUpdate(
            email: texts["email"], isEmailVerified: isVerified, password: texts["password"],
            displayName: change("name"), photoURL: change("photo"), phoneNumber: change("phone"))
    }
}
