package import HearthIdentity

/// How a server serves accounts.
package struct IdentityConfiguration: Sendable {
    /// Project and mode are those of the server.
    package var options = AccountOptions()
    /// The keys of an app are no secret; nil takes any.
    package var apiKeys: Set<String>?
    /// Where people reach this server, for the links in mails: `https://auth.example.com`. Nil for the name that the
    /// client that asks for a mail uses, which in production anybody could set to their own.
    package var publicURL: String?
    /// Hosts to which links may lead on.
    package var authorizedDomains: Set<String> = ["localhost", "127.0.0.1"]
    package var delivery = CodeDelivery.log
    /// How many mails may wait or be under way.
    package var mailsMax = 256
    /// Requests that may hash passwords, at a time.
    package var slowThreads = 2
    /// Other requests at a time.
    package var quickThreads = 2
    /// How many requests may wait for each of the slow threads: clients give up after 30 s.
    package var slowWaitingMax = 100
    /// How many may wait for each of the others.
    package var quickWaitingMax = 1000

    /// Sign-ins for which an identity provider is being asked, at a time.
    package var providerQuestionsMax = 200
    /// The URL of this server's token endpoint for administrators' programs: `https://db.example.com/token`. Nil to
    /// accept the URL that they use.
    package var tokenURL: String?

    package init() {}

    /// How one-time codes reach people.
    package enum CodeDelivery: Sendable {
        /// Printed to the log: for development.
        case log
        /// A shell command, with the mail at its input.
        case command(String)
        case relay(SMTPSettings)
        /// Not at all: administrators ask for links.
        case none
    }
}
