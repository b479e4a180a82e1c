import HearthJSONValues

/// A user to create. All members are optional.
public struct NewUser: Hashable, Sendable {
    /// 1 to 128 bytes; nil for a random id.
    public var uid: String?
    /// The address to sign in with.
    public var email: String?
    /// Whether the address is verified.
    public var isEmailVerified: Bool
    /// At least six characters; nil for a user who does not sign in with a password.
    public var password: String?
    /// The display name.
    public var displayName: String?
    /// The URL of a picture.
    public var photoURL: String?
    /// The telephone number, such as +15555550100.
    public var phoneNumber: String?
    /// Whether the user cannot sign in yet.
    public var isDisabled: Bool

    /// All members with their defaults.
    public init(
        uid: String? = nil, email: String? = nil, isEmailVerified: Bool = false, password: String? = nil,
        displayName: String? = nil, photoURL: String? = nil, phoneNumber: String? = nil, isDisabled: Bool = false
    ) {
        self.uid = uid
        self.email = email
        self.isEmailVerified = isEmailVerified
        self.password = password
        self.displayName = displayName
        self.photoURL = photoURL
        self.phoneNumber = phoneNumber
        self.isDisabled = isDisabled
    }

    var members: JSONObject {
        JSONObject([
            "localId": uid.map { .text($0) }, "email": email.map { .text($0) },
            "emailVerified": isEmailVerified ? .bool(true) : nil, "password": password.map { .text($0) },
            "displayName": displayName.map { .text($0) }, "photoUrl": photoURL.map { .text($0) },
            "phoneNumber": phoneNumber.map { .text($0) }, "disabled": isDisabled ? .bool(true) : nil,
        ])
    }
}
