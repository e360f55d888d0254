"""Make `smollm2_greedy.json`: what transformers answers with the weights of the GGUF file.

Run from the root of the checkout, after `paged download smollm2-135m`; minutes on two cores:

    python tests/golden/make_smollm2_greedy.py PATH/TO/SmolLM2-135M-Instruct.Q4_1.gguf

The weights are dequantised to float32 by the `gguf` package, greedy text runs past the end
of the turn, and each token comes with the lead of the best logit over the second: where two
implementations differ, the lead says whether rounding can be the reason.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import torch
import transformers

NUM_TOKENS = 64

CHATS = (
    "What is the capital of France?",
    "Explain in one sentence why the sky is blue.",
    "Write a haiku about the sea.",
    "List three uses of a brick.",
    "How do I boil an egg?",
    "Translate 'good morning' into Spanish, German and Italian.",
    "What is 17 times 23? Show the steps.",
    "Give me a short recipe for tomato soup.",
    "Who wrote 'Pride and Prejudice', and when?",
    "Schreibe einen Satz \u00fcber \u00c4pfel und \u00d6l.",
    "Name a \U0001f600 synonym for \u201chappy\u201d.",
    "",
)
TEXTS = (
    "Once upon a time",
    "def fibonacci(n):\n    ",
    "The three laws of thermodynamics are",
    "1, 1, 2, 3, 5, 8, 13,",
    "import numpy as np\n\nclass Matrix:\n    def __init__(self, rows):\n",
    "Dear Sir or Madam,\n\n",
    "\u4eca\u65e5\u306f",
    "A" * 40,
)


def prompts(tokenizer: Any) -> list[dict[str, Any]]:
    """Token ids of every prompt, chats through the template."""
    chats = [
        {
            "messages": [{"role": "user", "content": content}],
            "prompt": tokenizer.apply_chat_template(
                [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
            ),
        }
        for content in CHATS
    ]
    texts = [{"messages": None, "prompt": text} for text in TEXTS]
    for case in (*chats, *texts):
        case["prompt_ids"] = tokenizer(case["prompt"], add_special_tokens=False)["input_ids"]
    return [*chats, *texts]


def answer(model: Any, prompt_ids: list[int]) -> tuple[list[int], list[float]]:
    """Greedy tokens, and for each how far its logit lies above the next best."""
    generated = model.generate(
        torch.tensor([prompt_ids]),
        attention_mask=torch.ones(1, len(prompt_ids), dtype=torch.long),
        do_sample=False,
        max_new_tokens=NUM_TOKENS,
        output_logits=True,
        return_dict_in_generate=True,
    )
    best = torch.stack(generated.logits)[:, 0].topk(2).values
    leads = (best[:, 0] - best[:, 1]).tolist()
    return generated.sequences[0, len(prompt_ids) :].tolist(), [round(lead, 4) for lead in leads]


def main(path: Path) -> None:
    """Write the golden file beside this script."""
    folder, name = str(path.parent), path.name
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=name)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=name, dtype=torch.float32
    )
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = None
    cases = prompts(tokenizer)
    for number, case in enumerate(cases, start=1):
        case["tokens"], case["leads"] = answer(model, case["prompt_ids"])
        print(f"{number}/{len(cases)}", tokenizer.decode(case["tokens"][:16]), file=sys.stderr)
    made_with = {
        "gguf_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "transformers": transformers.__version__,
        "torch": torch.__version__,
    }
    lines = [json.dumps(each) for each in (made_with, *cases)]
    target = Path(__file__).with_name("smollm2_greedy.json")
    target.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
