from course_lib.bpe.byte_level import DigitBPE
from course_lib.pretrained import SYSTEM, chat
from course_practice.engine import Exercise, case


def chat_text(turns, system=SYSTEM):
    """What the model reads: `turns` are the user's, the assistant's, the user's …

    >>> print(chat_text(["Hello"], system="Be kind."), end="")
    <|im_start|>system
    Be kind.<|im_end|>
    <|im_start|>user
    Hello<|im_end|>
    <|im_start|>assistant
    """
    text = f"<|im_start|>system\n{system}<|im_end|>\n"
    for i, turn in enumerate(turns):
        role = "user" if i % 2 == 0 else "assistant"
        text += f"<|im_start|>{role}\n{turn}<|im_end|>\n"
    return text + "<|im_start|>assistant\n"


def with_a_join(turns, system=SYSTEM):
    roles = ["system", *["user", "assistant"] * len(turns)]
    texts = [system, *turns]
    said = [f"{role}\n{text}<|im_end|>\n" for role, text in zip(roles, texts, strict=False)]
    return "<|im_start|>" + "<|im_start|>".join([*said, "assistant\n"])


def from_the_librarys_ids(turns, system=SYSTEM):
    vocabulary = DigitBPE.train([], 0, specials={"<|im_start|>": 1, "<|im_end|>": 2})
    return vocabulary.decode(chat(vocabulary, turns, system), special=True)


def _as_text(obj, given):
    """A list in one line, so that lists can be told from one another."""
    made = obj(*given.args, **given.kwargs)
    return f"the list {made}" if isinstance(made, list) else made


EXERCISE = Exercise(
    reference=chat_text,
    call=_as_text,
    cases=lambda: [
        case(["Hello"], system="Be kind.", about="one turn"),
        case(["What is the capital of France?"], about="one turn, and the usual system text"),
        case(["Hello", "Hello! How can I help?", "Tell me a story."], system="Be brief.", about="three turns"),
        case(["1 + 1?", "2", "And 2 + 2?", "4", "Thank you."], about="five turns"),
        case(["def f():\n    return 1\n"], system="Read code.\nSay what it does.", about="texts of several lines"),
        case(["  two spaces before, two behind  "], system=" Hm. ", about="texts that begin and end with spaces"),
    ],
    alternatives=(with_a_join, from_the_librarys_ids),
)
