/// How long a test waits for something that must come. Where all tests run at once on few cores, a step that is not
/// optimised may take minutes: the limit only says that something hangs.
package enum Patience {
    package static let limit = Duration.seconds(600)
}
