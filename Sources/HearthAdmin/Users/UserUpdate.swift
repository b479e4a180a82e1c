import HearthJSONValues

/// Changes of a user. Members that are not set stay unchanged.
///
///     try await admin.updateUser(uid, UserUpdate(displayName: .set("Ann Lee"), phoneNumber: .remove))
public struct UserUpdate: Hashable, Sendable {
    /// A change of an optional member.
    public enum Change: Hashable, Sendable {
        case set(String)
        case remove
    }

    /// A new address to sign in with.
    public var email: String?
    /// Whether the address is verified.
    public var isEmailVerified: Bool?
    /// A new password. It ends all sessions of the user.
    public var password: String?
    /// The display name.
    public var displayName: Change?
    /// The URL of a picture.
    public var photoURL: Change?
    /// The telephone number, such as +15555550100.
    public var phoneNumber: Change?
    /// Whether the user cannot sign in. True ends all sessions of the user.
    public var isDisabled: Bool?

    /// All members with their defaults.
    public init(
        email: String? = nil, isEmailVerified: Bool? = nil, password: String? = nil, displayName: Change? = nil,
        photoURL: Change? = nil, phoneNumber: Change? = nil, isDisabled: Bool? = nil
    ) {
        self.email = email
        self.isEmailVerified = isEmailVerified
        self.password = password
        self.displayName = displayName
        self.photoURL = photoURL
        self.phoneNumber = phoneNumber
        self.isDisabled = isDisabled
    }

    var members: JSONObject {
        var members = JSONObject([
            "email": email.map { .text($0) }, "emailVerified": isEmailVerified.map { .bool($0) },
            "password": password.map { .text($0) }, "disableUser": isDisabled.map { .bool($0) },
        ])
        var removed: [JSONValue] = []
        for (change, name, attribute) in [
            (displayName, "displayName", "DISPLAY_NAME"), (photoURL, "photoUrl", "PHOTO_URL"),
        ] {
            switch change {
            case .set(let text)?: members[name] = .text(text)
            case .remove?: removed.append(.text(attribute))
            case nil: break
            }
        }
        if !removed.isEmpty { members["deleteAttribute"] = .array(removed) }
        switch phoneNumber {
        case .set(let number)?: members["phoneNumber"] = .text(number)
        case .remove?: members["deleteProvider"] = .array([.text("phone")])
        case nil: break
        }
        return members
    }
}
