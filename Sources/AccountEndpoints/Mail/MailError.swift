/// Why a mail was not sent.
struct MailError: Error {
    let reason: String
}
