/**
 * Markdown as elements of the page. What an agent writes is never HTML here: tags stay text, images become links, and a
 * link goes to http or https and nowhere else.
 */

import { lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { memo } from "preact/compat";

import { Copy } from "./small";

/** The address of a link, if it is one that may be followed. */
export function safeLink(href: string): string | null {
  const plain = unescaped(href).trim();
  if (!/^https?:\/\//i.test(plain)) return null;
  try {
    const url = new URL(plain);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

export const Markdown = memo(function Markdown({ text }: { text: string }): VNode {
  return <div class="prose">{rendered(text)}</div>;
});

/** The elements of a text. Nothing that it says can fail: what cannot be read as Markdown is shown as it is. */
export function rendered(text: string): ComponentChildren {
  try {
    return lexer(text, { gfm: true, breaks: true }).map(block);
  } catch {
    return <p>{text}</p>;
  }
}

function block(token: Token, at: number): ComponentChildren {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const level = Math.min((token as Tokens.Heading).depth + 2, 6);
      return <div key={at} role="heading" aria-level={level} class={`h h${level}`}><strong>{inline(token)}</strong></div>;
    }
    case "paragraph":
      return <p key={at}>{inline(token)}</p>;
    case "text":
      return <p key={at}>{"tokens" in token && token.tokens ? inline(token) : unescaped((token as Tokens.Text).text)}</p>;
    case "code":
      return <Code key={at} text={(token as Tokens.Code).text} />;
    case "blockquote":
      return <blockquote key={at}>{((token as Tokens.Blockquote).tokens).map(block)}</blockquote>;
    case "list": {
      const list = token as Tokens.List;
      const items = list.items.map((item, n) => <li key={n}>{item.task ? <input type="checkbox" checked={item.checked === true} disabled aria-label={item.checked ? "done" : "not done"} /> : null}{listItem(item)}</li>);
      return list.ordered ? <ol key={at} start={typeof list.start === "number" ? list.start : 1}>{items}</ol> : <ul key={at}>{items}</ul>;
    }
    case "table": {
      const table = token as Tokens.Table;
      return (
        <div key={at} class="table" tabIndex={0} role="region" aria-label="Table">
          <table>
            <thead><tr>{table.header.map((cell, n) => <th key={n}>{spans(cell.tokens)}</th>)}</tr></thead>
            <tbody>{table.rows.map((row, n) => <tr key={n}>{row.map((cell, m) => <td key={m}>{spans(cell.tokens)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      );
    }
    case "hr":
      return <hr key={at} />;
    default:
      return <p key={at}>{token.raw}</p>; // HTML, and whatever else there is: as text
  }
}

/** A line of a tight list is no paragraph. */
function listItem(item: Tokens.ListItem): ComponentChildren {
  return item.tokens.map((token, n) => (token.type === "text" && !item.loose ? <span key={n}>{inline(token)}</span> : block(token, n)));
}

function inline(token: Token): ComponentChildren {
  return "tokens" in token && token.tokens ? spans(token.tokens) : token.raw;
}

function spans(tokens: readonly Token[]): ComponentChildren {
  return tokens.map((token, at) => {
    switch (token.type) {
      case "text":
        return "tokens" in token && token.tokens ? spans(token.tokens) : unescaped((token as Tokens.Text).text);
      case "escape":
        return unescaped((token as Tokens.Escape).text);
      case "strong":
        return <strong key={at}>{inline(token)}</strong>;
      case "em":
        return <em key={at}>{inline(token)}</em>;
      case "del":
        return <del key={at}>{inline(token)}</del>;
      case "codespan":
        return <code key={at}>{unescaped((token as Tokens.Codespan).text)}</code>;
      case "br":
        return <br key={at} />;
      case "link": {
        const href = safeLink((token as Tokens.Link).href);
        if (href === null) return token.raw;
        return <a key={at} href={href} target="_blank" rel="noopener noreferrer">{inline(token)}</a>;
      }
      case "image": {
        const image = token as Tokens.Image;
        const href = safeLink(image.href);
        return href === null ? token.raw : <a key={at} href={href} target="_blank" rel="noopener noreferrer">image: {image.text || href}</a>;
      }
      default:
        return token.raw;
    }
  });
}

/** The lexer escapes some text for HTML; the page needs it as it was. */
function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name] ?? _);
}

export function Code({ text }: { text: string }) {
  return <div class="code"><pre tabIndex={0}><code>{text}</code></pre><Copy text={text} what="Copy the code" /></div>;
}
