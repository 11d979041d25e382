/** One view that fails does not take the page with it. */

import { Component, type ComponentChildren } from "preact";

interface Props { place: string; children: ComponentChildren }
interface State { failed: string | null; place: string }

export class Boundary extends Component<Props, State> {
  override state: State = { failed: null, place: this.props.place };

  static getDerivedStateFromProps(props: Props, state: State): State {
    return props.place === state.place ? state : { failed: null, place: props.place };
  }

  override componentDidCatch(error: unknown): void {
    this.setState({ failed: String(error) });
  }

  render() {
    if (this.state.failed === null) return this.props.children;
    return (
      <div class="problem stack" role="alert" data-failed>
        <div>This view could not be shown: {this.state.failed}</div>
        <div class="small muted">Nothing was lost: the command line shows the same.</div>
        <div><button type="button" class="button small" onClick={() => this.setState({ failed: null })}>Try again</button></div>
      </div>
    );
  }
}
