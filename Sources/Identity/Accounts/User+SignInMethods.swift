/// The members that decide who gets into an account.
extension User {
    /// The ways to sign in by name: the address, its password and links, the telephone number, custom tokens, and the
    /// accounts of other providers. Two users with equal methods let the same people in.
    var signInMethods: [String: String] {
        var methods: [String: String] = [:]
        methods["email"] = email
        methods["password"] = password
        methods["phone"] = phone
        if hasEmailLink { methods["emailLink"] = email ?? "" }
        if hasCustomAuth { methods["custom"] = "" }
        for link in links {
            let name = "link:\(link.provider)"
            methods[name] = (methods[name].map { $0 + "\n" } ?? "") + link.rawID
        }
        return methods
    }

    /// The changes of the ways to sign in, sorted: `+password`, `-google.com`, `~email` for one that has another value.
    func signInChanges(since before: User) -> [String] {
        let (old, new) = (before.signInMethods, signInMethods)
        if old == new { return [] }
        return Set(old.keys).union(new.keys).sorted().compactMap { name in
            let sign: Character
            switch (old[name], new[name]) {
            case (nil, _?): sign = "+"
            case (_?, nil): sign = "-"
            case (let old, let new):
                if old == new { return nil }
                sign = "~"
            }
            return "\(sign)\(name.hasPrefix("link:") ? name.dropFirst(5) : name[...])"
        }
    }

    /// The sign-in providers (accounts.md 9) of sessions that could not begin again as they did.
    func lostProviders(since before: User) -> Set<String> {
        let now = signInMethods
        var lost: Set<String> = []
        for (name, value) in before.signInMethods where now[name] != value {
            switch name {
            // A password and the link of a mail make sessions of the same name.
            case "email", "password", "emailLink": lost.insert(ProviderLink.password)
            default: lost.insert(name.hasPrefix("link:") ? String(name.dropFirst(5)) : name)
            }
        }
        return lost
    }

    /// The owner of the address has come, and the creator of the account had never proved to be that: nothing that lets
    /// them in remains.
    mutating func shutOutCreator(now: Int64) {
        password = nil
        passwordUpdatedAt = nil
        phone = nil
        hasEmailLink = false
        hasCustomAuth = false
        links = []
        voidTokens(now: now)
    }
}
